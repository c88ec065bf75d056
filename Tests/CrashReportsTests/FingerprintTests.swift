import ReportTestSupport
import Testing

@testable import CrashReports

@Suite struct FingerprintTests {
    private static let trap = "Fatal error: Unexpectedly found nil while unwrapping an Optional value"

    private func fingerprint(
        _ frames: [CrashReport.Frame],
        message: String? = trap,
        signal: Int = 4,
        code: Int = 2,
        kind: CrashReport.Fault.AddressKind? = nil,
        callout: CrashReport.LoopState.Callout? = nil
    ) -> Fingerprint {
        var report = SampleReport.minimal(message: message, frames: frames)
        report.fault?.signal = .signal(signal)
        report.fault?.code = .code(code, ofSignal: signal)
        report.fault?.addressKind = kind
        report.loop = callout.map { .init(mode: "default", activity: "entry", callout: $0, nesting: 1, pass: 1) }
        return Fingerprint(of: report)
    }

    private func frames(_ names: [String?]) -> [CrashReport.Frame] {
        names.enumerated().map { SampleReport.frame($0.offset, $0.element, imageOffset: UInt64($0.offset)) }
    }

    @Test func `The rule of version 2 never changes`() throws {
        #expect(fingerprint(frames(["a", "b"])).rawValue == "v2-4b171c27e207de94")
        for name in Fixture.reports {
            let fixture = try CrashReport(json: try Fixture.bytes(name))
            #expect(Fingerprint(of: fixture) == fixture.fingerprint)
        }
    }

    @Test func `A report that was read keeps its fingerprint`() throws {
        var report = try CrashReport(json: try Fixture.bytes("v1-plain.json"))
        report.fingerprint = Fingerprint(rawValue: "v1-19b7455d821ef111")
        let again = try CrashReport(json: try report.json())
        #expect(again == report)
        var explained = report
        explained.explain()
        #expect(explained.fingerprint.rawValue.hasPrefix("v2-"))
        #expect(explained.diagnosis != nil)
    }

    @Test func `A callout that takes too long is known by its label, and by where it waits`() {
        func fingerprint(_ names: [String], waiting: Bool, label: String = "a timer") -> Fingerprint {
            var frames = frames(names)
            if waiting { frames[0].isUserCode = false }
            var report = SampleReport.minimal(frames: frames)
            report.fault?.signal = .signal(16)
            report.fault?.deadlineSeconds = 2
            let callout = CrashReport.LoopState.Callout(kind: .timer, label: label, item: 7)
            report.loop = .init(mode: "default", activity: "entry", callout: callout, nesting: 1, pass: 1)
            return Fingerprint(of: report)
        }
        let busy = fingerprint(["a", "b"], waiting: false)
        #expect(busy == fingerprint(["c", "b"], waiting: false))
        #expect(busy != fingerprint(["a", "b"], waiting: false, label: "another"))
        let waiting = fingerprint(["read", "b"], waiting: true)
        #expect(waiting != busy)
        #expect(waiting != fingerprint(["read", "c"], waiting: true))
        #expect(waiting == fingerprint(["poll", "b"], waiting: true))
    }

    @Test func `Lines, offsets and addresses do not count`() {
        let one = [SampleReport.frame(0, "f", imageOffset: 1, line: 3)]
        let other = [SampleReport.frame(0, "f", imageOffset: 99, line: 4)]
        #expect(fingerprint(one) == fingerprint(other))
    }

    @Test func `The function that failed counts, and not who called it`() {
        let one = fingerprint(frames(["a", "b", "c"]))
        #expect(one == fingerprint(frames(["a", "x"])))
        #expect(one != fingerprint(frames(["x", "b", "c"])))
    }

    @Test func `Where the caller broke a rule, it counts, too`() {
        let text = "Precondition failed: index >= 0"
        let one = fingerprint(frames(["check", "b", "c"]), message: text)
        #expect(one == fingerprint(frames(["check", "b", "x"]), message: text))
        #expect(one != fingerprint(frames(["check", "x", "c"]), message: text))
        // Optimised code has no text.
        let bare = SampleReport.frame(0, "Swift runtime failure: precondition failure")
        #expect(one == fingerprint([bare] + frames(["check", "b", "c"]), message: nil))
    }

    @Test func `What failed counts, in the words of a debug build and of an optimised one`() {
        let check = "Swift runtime failure: Unexpectedly found nil while unwrapping an Optional value"
        let optimised = fingerprint([SampleReport.frame(0, check)] + frames(["a"]), message: nil)
        #expect(optimised == fingerprint(frames(["a"])))
        #expect(optimised != fingerprint(frames(["a"]), message: "Fatal error: Index out of range"))
    }

    @Test func `Numbers and names in a message do not count, the rest does`() {
        let one = fingerprint(frames(["a"]), message: "Fatal error: no route for \"example.org\" after 3 tries")
        #expect(one == fingerprint(frames(["a"]), message: "Fatal error: no route for \"x.example\" after 12 tries"))
        #expect(one != fingerprint(frames(["a"]), message: "Fatal error: no socket"))
    }

    @Test func `Where a wrong pointer leads does not count`() {
        let frames = frames(["a"])
        let one = fingerprint(frames, message: nil, signal: 11, code: 1, kind: .unmapped)
        #expect(one == fingerprint(frames, message: nil, signal: 11, code: 0x80, kind: .nonCanonical))
        #expect(one == fingerprint(frames, message: nil, signal: 11, code: 2, kind: .readOnly))
        #expect(one != fingerprint(frames, message: nil, signal: 11, code: 1, kind: .noCode))
        #expect(one != fingerprint(frames, message: nil, signal: 11, code: 2, kind: .stackGuard))
    }

    @Test func `Of a recursion that uses up the stack, its functions count, wherever it ends`() {
        func overflow(_ names: [String?]) -> Fingerprint {
            fingerprint(frames(names), message: nil, signal: 11, code: 2, kind: .stackGuard)
        }
        let cycle = Array(repeating: ["visit", "children", "each"], count: 20).flatMap(\.self)
        let one = overflow(cycle + ["main"])
        #expect(one == overflow(["leaf", "each"] + cycle + cycle + ["start", "main"]))
        #expect(one != overflow(Array(repeating: "visit", count: 60)))
        #expect(one != overflow(["visit", "children", "each"]))
    }

    @Test func `Checks of the compiler and frames of libraries do not count`() {
        let check = SampleReport.frame(0, "Swift runtime failure: arithmetic overflow")
        let library = SampleReport.frame(1, "memcpy", isUserCode: false)
        #expect(fingerprint([check, library] + frames(["a"])) == fingerprint(frames(["a"])))
    }

    @Test func `A closure that was kept for later is known by its callout, and else by its number`() {
        let timer = CrashReport.LoopState.Callout(kind: .timer, label: "client 7", item: 3)
        let other = CrashReport.LoopState.Callout(kind: .timer, label: "flush", item: 3)
        let (first, second) = (frames(["closure #1 in setUp()", "fire"]), frames(["closure #2 in setUp()", "fire"]))
        #expect(fingerprint(first) != fingerprint(second))
        #expect(fingerprint(first, callout: timer) == fingerprint(second, callout: timer))
        #expect(fingerprint(first, callout: timer) != fingerprint(first, callout: other))
        let later = CrashReport.LoopState.Callout(kind: .timer, label: "client 12", item: 9)
        #expect(fingerprint(first, callout: timer) == fingerprint(first, callout: later))
        // One that its own function calls.
        let (third, fourth) = (frames(["closure #1 in f()", "f()"]), frames(["closure #2 in f()", "f()"]))
        #expect(fingerprint(third) == fingerprint(fourth))
        #expect(fingerprint(third, callout: timer) == fingerprint(third, callout: other))
    }

    @Test func `Without any name, the offset in the executable counts`() {
        func bare(_ offset: UInt64) -> [CrashReport.Frame] {
            var frame = SampleReport.frame(0, nil, imageOffset: offset, isUserCode: false)
            frame.image = 0
            return [SampleReport.frame(0, "abort", isUserCode: false), frame]
        }
        #expect(fingerprint(bare(1)) != fingerprint(bare(2)))
        #expect(fingerprint(bare(1)) == fingerprint([SampleReport.frame(3, "raise", isUserCode: false)] + bare(1)))
        // As soon as anything has a name, offsets do not count.
        #expect(fingerprint(bare(1) + frames(["a"])) == fingerprint(bare(2) + frames(["a"])))
    }

    @Test func `Without user code, other code counts`() {
        let one = fingerprint([SampleReport.frame(0, "abort", isUserCode: false)])
        #expect(one != fingerprint([SampleReport.frame(0, "free", isUserCode: false)]))
        #expect(one != fingerprint([]))
    }
}
