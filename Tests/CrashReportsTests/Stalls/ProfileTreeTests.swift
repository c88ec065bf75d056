import ReportTestSupport
import Testing

@testable import CrashReports

@Suite struct ProfileTreeTests {
    /// The calls, each as its depth, its name and its time in milliseconds.
    private func lines(_ profile: CrashReport.Stall.Profile?) -> [String] {
        (profile?.calls ?? []).map { "\($0.depth) \($0.name) \(Int(($0.seconds * 1000).rounded()))" }
    }

    @Test func `Stacks are merged from the outermost call on`() {
        var tree = ProfileTree()
        tree.add(SampleStall.stack("main", "run", "parse"), seconds: 0.02)
        tree.add(SampleStall.stack("main", "run", "write"), seconds: 0.02)
        tree.add(SampleStall.stack("main", "run", "parse"), seconds: 0.03)
        tree.add(SampleStall.stack("main"), seconds: 0.01)
        #expect(lines(tree.profile) == ["0 main 80", "1 run 70", "2 parse 50", "2 write 20"])
        #expect(tree.profile?.samples == 4)
        #expect(tree.profile.map { ($0.seconds * 1000).rounded() } == 80)
        #expect(tree.profile?.calls.map(\.samples) == [4, 3, 2, 1])
        #expect(tree.profile?.callsOmitted == 0)
    }

    @Test func `The heaviest path comes first, and equals in the order in which they came`() {
        var tree = ProfileTree()
        for function in ["a", "b", "c"] {
            tree.add(SampleStall.stack("main", function), seconds: function == "b" ? 0.02 : 0.01)
        }
        #expect(lines(tree.profile) == ["0 main 40", "1 b 20", "1 a 10", "1 c 10"])
    }

    @Test func `Lines are counted in their function, the longest first`() {
        var tree = ProfileTree()
        tree.add(SampleStall.stack("main", line: 3), seconds: 0.01)
        tree.add(SampleStall.stack("main", line: 9), seconds: 0.02)
        tree.add(SampleStall.stack("main", line: 3), seconds: 0.02)
        tree.add(SampleStall.stack("main", line: 0), seconds: 0.02)
        let call = tree.profile?.calls.first
        #expect(tree.profile?.calls.count == 1)
        #expect(call?.lines.map(\.line) == [3, 9])
        #expect(call?.location == "main (Agent.swift:3)")
        for line in 10..<30 { tree.add(SampleStall.stack("main", line: line), seconds: 0.001) }
        #expect(tree.profile?.calls.first?.lines.count == 8)
    }

    @Test func `A call that was inlined, and one of another library, are others`() {
        var tree = ProfileTree()
        var inlined = SampleStall.stack("f")
        inlined[0].inlined = true
        var foreign = SampleStall.stack("f")
        foreign[0].imageName = "libother.so"
        for frames in [SampleStall.stack("f"), inlined, foreign, SampleStall.stack("f")] {
            tree.add(frames, seconds: 0.01)
        }
        #expect(tree.profile?.calls.map(\.samples) == [2, 1, 1])
    }

    @Test func `Without names, places are told apart`() {
        var tree = ProfileTree()
        for offset: UInt64 in [0x10, 0x20, 0x10] {
            tree.add([SampleReport.frame(0, nil, imageOffset: offset)], seconds: 0.01)
        }
        #expect(lines(tree.profile) == ["0 agent+0x10 20", "0 agent+0x20 10"])
    }

    @Test func `What the compiler checks is no call`() {
        var tree = ProfileTree()
        var frames = SampleStall.stack("main", "Swift runtime failure: arithmetic overflow")
        frames[0].inlined = true
        tree.add(frames, seconds: 0.01)
        #expect(lines(tree.profile) == ["0 main 10"])
    }

    @Test func `Without a frame there is no profile`() {
        var tree = ProfileTree()
        #expect(tree.profile == nil)
        tree.add([], seconds: 0.01)
        #expect(tree.profile == nil)
        tree.add(SampleStall.stack("main"), seconds: 0.01)
        #expect(tree.profile?.samples == 2)
    }

    @Test func `Of many calls those are kept that took longest, and they are a tree`() throws {
        var tree = ProfileTree()
        for number in 0..<1000 {
            tree.add(SampleStall.stack("main", "f\(number)", "g\(number)"), seconds: Double(number + 1) / 1000)
        }
        let profile = try #require(tree.profile)
        #expect(profile.calls.count == ProfileTree.mostCalls)
        #expect(profile.callsOmitted == 2001 - ProfileTree.mostCalls)
        #expect(profile.calls[1].function == "f999" && profile.calls[2].function == "g999")
        // No call without its caller: depths need no putting right.
        #expect(profile.rows.map(\.depth) == profile.calls.map(\.depth))
        #expect(!profile.calls.contains { $0.function == "f1" })
    }

    @Test func `Profiles are merged like stacks`() throws {
        var tree = ProfileTree()
        let calls = [
            SampleStall.call(0, 1, nil), SampleStall.call(1, 0.4, "f", line: 3), SampleStall.call(1, 0.5, "f", line: 4),
        ]
        tree.add(.init(samples: 10, seconds: 1, calls: calls, callsOmitted: 3))
        let profile = try #require(tree.profile)
        #expect(lines(profile) == ["0 agent+0x10 1000", "1 f 900"])
        #expect(profile.calls[1].lines == [.init(line: 4, seconds: 0.5), .init(line: 3, seconds: 0.4)])
        #expect(profile.callsOmitted == 3)
        #expect(profile.samples == 10 && profile.seconds == 1)
    }
}
