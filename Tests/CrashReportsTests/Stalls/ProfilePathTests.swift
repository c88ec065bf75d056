import ReportTestSupport
import Testing

@testable import CrashReports

@Suite struct ProfilePathTests {
    /// A hundred samples for a second.
    private func profile(_ calls: [CrashReport.Stall.Call]) -> CrashReport.Stall.Profile {
        let calls = calls.map { call in
            var call = call
            call.samples = Int(min(max(call.seconds, 0), 1000) * 100)
            return call
        }
        return .init(samples: 100, seconds: calls.first?.seconds ?? 0, calls: calls)
    }

    @Test func `A row knows what its call took itself`() {
        let rows = profile([
            SampleStall.call(0, 1, "a"), SampleStall.call(1, 0.75, "b"), SampleStall.call(2, 0.5, "c"),
            SampleStall.call(1, 0.125, "d"),
        ]).rows
        #expect(rows.map(\.depth) == [0, 1, 2, 1])
        #expect(rows.map(\.ownSeconds) == [0.125, 0.25, 0.5, 0.125])
    }

    @Test func `Depths that jump make a tree all the same`() {
        let depths = [7, -3, 9, 9, 1, .max, .min, 2]
        let rows = profile(depths.map { SampleStall.call($0, 1, "f") }).rows
        #expect(rows.map(\.depth) == [0, 0, 1, 2, 1, 2, 0, 1])
    }

    @Test func `No call took less than nothing, whatever the report says`() {
        let rows = profile([SampleStall.call(0, 1, "a"), SampleStall.call(1, -5, "b"), SampleStall.call(1, 9, "c")])
            .rows
        #expect(rows.map(\.ownSeconds) == [0, 0, 9])
        let huge = profile([SampleStall.call(0, 1e308, "a"), SampleStall.call(1, -1e308, "b")]).rows
        #expect(huge.allSatisfy { $0.ownSeconds.isFinite && $0.ownSeconds >= 0 })
    }

    @Test func `The heaviest path goes down to where nothing more is called`() {
        let calls = [
            SampleStall.call(0, 1, "a"), SampleStall.call(1, 0.6, "b"), SampleStall.call(1, 0.4, "c"),
            SampleStall.call(2, 0.4, "d"),
        ]
        #expect(profile(calls).heaviestPath.map(\.function) == ["a", "b"])
        #expect(profile([]).heaviestPath.isEmpty)
    }

    @Test func `To blame is the innermost function of the program that was there nearly all the time`() {
        let calls = [
            SampleStall.call(0, 1, "main"), SampleStall.call(1, 1, "serve", isUserCode: false),
            SampleStall.call(2, 0.95, "sweep"), SampleStall.call(3, 0.5, "parse"),
            SampleStall.call(4, 0.5, "match", isUserCode: false),
        ]
        #expect(profile(calls).culprit?.function == "sweep")
        // One that was called again and again is not, though most of the time went there.
        var often = calls
        often[3].seconds = 0.94
        #expect(profile(often).culprit?.function == "sweep")
        // A call of a library is not to blame, however long it took.
        #expect(profile(Array(calls.prefix(2))).culprit?.function == "main")
        #expect(profile([SampleStall.call(0, 1, "poll", isUserCode: false)]).culprit == nil)
        // Of a program without symbols, the place has to do.
        let bare = profile([SampleStall.call(0, 1, nil), SampleStall.call(1, 1, nil, offset: 0x20)])
        #expect(bare.culprit?.name == "agent+0x20")
    }

    @Test func `A call has a name, whatever is known of it`() {
        var call = SampleStall.call(0, 1, "f", line: 3)
        #expect(call.location == "f (Agent.swift:3)")
        call.lines = []
        #expect(call.location == "f (Agent.swift)")
        call.function = nil
        #expect(call.location == "agent+0x10")
        call.imageOffset = nil
        #expect(call.name == "agent")
        call.imageName = nil
        #expect(call.name == "0x1010")
    }
}
