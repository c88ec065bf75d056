import CrashReports
import Testing

@Suite struct FingerprintTests {
    private func fingerprint(_ frames: [CrashReport.Frame], signal: String = "SIGILL") -> Fingerprint {
        Fingerprint(kind: .fault, signal: signal, frames: frames)
    }

    private func frames(_ names: [String?]) -> [CrashReport.Frame] {
        names.enumerated().map { SampleReport.frame($0.offset, $0.element, imageOffset: UInt64($0.offset)) }
    }

    @Test func `The rule of version 1 never changes`() throws {
        #expect(fingerprint(frames(["a", "b"])).rawValue == "v1-da763d8a507c9fde")
        let fixture = try CrashReport(json: try Fixture.bytes("v1.json"))
        let made = fingerprint(fixture.thread.frames)
        #expect(made == fixture.fingerprint)
    }

    @Test func `Lines, offsets and addresses do not count`() {
        let one = [SampleReport.frame(0, "f", imageOffset: 1, line: 3)]
        let other = [SampleReport.frame(0, "f", imageOffset: 99, line: 4)]
        #expect(fingerprint(one) == fingerprint(other))
    }

    @Test func `The signal counts, and so does each of five functions`() {
        let names = ["a", "b", "c", "d", "e", "f"]
        let whole = fingerprint(frames(names))
        #expect(whole != fingerprint(frames(names), signal: "SIGSEGV"))
        #expect(whole == fingerprint(frames(Array(names.prefix(5)))))
        for index in 0..<5 {
            var changed = names
            changed[index] = "x"
            #expect(whole != fingerprint(frames(changed)))
        }
        #expect(fingerprint(frames(["ab", "c"])) != fingerprint(frames(["a", "bc"])))
    }

    @Test func `Direct recursion counts once`() {
        #expect(fingerprint(frames(["a", "a", "a", "b"])) == fingerprint(frames(["a", "b"])))
        #expect(fingerprint(frames(["a", "b", "a", "b"])) != fingerprint(frames(["a", "b"])))
    }

    @Test func `Checks of the compiler and frames of libraries do not count`() {
        let check = SampleReport.frame(0, "Swift runtime failure: arithmetic overflow")
        let library = SampleReport.frame(1, "memcpy", isUserCode: false)
        #expect(fingerprint([check, library] + frames(["a"])) == fingerprint(frames(["a"])))
    }

    @Test func `Without a name, the offset in the image counts`() {
        let one = fingerprint([SampleReport.frame(0, nil, imageOffset: 1)])
        #expect(one != fingerprint([SampleReport.frame(0, nil, imageOffset: 2)]))
        #expect(one == fingerprint([SampleReport.frame(7, nil, imageOffset: 1)]))
    }

    @Test func `Without user code, other code counts`() {
        let one = fingerprint([SampleReport.frame(0, "abort", isUserCode: false)])
        #expect(one != fingerprint([SampleReport.frame(0, "free", isUserCode: false)]))
        #expect(one != fingerprint([]))
    }
}
