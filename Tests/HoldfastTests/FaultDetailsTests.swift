import CrashCapture
import CrashReports
import Testing

@testable import Holdfast

/// What callers of boundaries tell, and when a report no longer waits for them.
@Suite struct FaultDetailsTests {
    private let details = FaultDetails()

    private func told(_ number: Int) -> FaultDetails.Told {
        FaultDetails.Told(id: ReportID(time: .now), time: .now, tags: ["request.id": "\(number)"])
    }

    private func folded(_ number: Int) -> FaultDetails.Folded { FaultDetails.Folded(number: number, time: .now) }

    @Test func `A report waits for its caller, and for those of the faults that are counted in it`() {
        #expect(!details.isComplete(1, at: .now))
        details.tell(ofFault: 1, told(1))
        #expect(details.isComplete(1, at: .now))
        details.fold(folded(2), into: 1)
        #expect(!details.isComplete(1, at: .now))
        details.tell(ofFault: 2, told(2))
        #expect(details.isComplete(1, at: .now))
        let taken = details.take(1)
        #expect(taken.own?.tags == ["request.id": "1"] && taken.folded.map(\.tags) == [["request.id": "2"]])
        #expect(details.take(1).own == nil && details.take(1).folded.isEmpty && details.take(2).own == nil)
    }

    @Test func `Faults that were counted in one that is counted itself go along`() {
        details.fold(folded(4), into: 2)
        details.fold(folded(3), into: 2)
        details.fold(folded(2), into: 1)
        for number in 1...3 { details.tell(ofFault: number, told(number)) }
        let taken = details.take(1)
        #expect(Set(taken.folded.map(\.tags)) == [["request.id": "2"], ["request.id": "3"]])
        #expect(taken.untold.map(\.number) == [4])
    }

    @Test func `A caller that tells nothing is not waited for any longer than some seconds, whatever the clock says`() {
        #expect(details.isComplete(1, at: Timestamp.now.adding(seconds: -6)))
        #expect(details.isComplete(1, at: Timestamp.now.adding(seconds: 3600)))
    }

    @Test func `Tags are redacted, cut and as many as a record has room for`() {
        let known = [
            "request.id": "4711", "api_key": "hunter2", "nul\0s": "a\0b", "long": String(repeating: "é", count: 1000),
        ]
        let tags = FaultDetails.tags(known, TextRedaction())
        #expect(tags["request.id"] == "4711" && tags["api_key"] == TextRedaction.mark && tags["nuls"] == "ab")
        #expect(tags["long"] == String(repeating: "é", count: 128))
        let many = Dictionary(uniqueKeysWithValues: (0..<1000).map { ("key\($0)", "value") })
        let kept = FaultDetails.tags(many, TextRedaction())
        #expect(kept.count > 50 && FaultDetails.bytes(of: kept).count <= CrashCapture.faultTagsSize)
        let alone = FaultDetails.tags(["a": "eyJ" + String(repeating: "x", count: 400)], TextRedaction())
        #expect(alone == ["a": TextRedaction.mark])
    }
}
