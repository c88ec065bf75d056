import CrashReports
import Glibc
import TestSupport
import Testing

/// What a fault and a restart leave of connections.
@Suite(.timeLimit(.minutes(5))) struct ConnectionFaultTests {
    @Test func `A connection whose callout was abandoned is closed, and the others go on`() throws {
        let server = try ProbeServer("lines")
        let other = try server.connect()
        #expect(try other.ask("a") == "a")
        let client = try server.connect()
        try client.send("fault nil-unwrap\nb\n")
        #expect(try client.line() == nil)
        #expect(try server.process.output.next() == "closed probe 2: abandoned")
        #expect(try other.ask("c") == "c")
        #expect(try server.stop() == .exited(0))
        #expect(try server.store.reports().filter { $0.verdict.decision == .resume }.count == 1)
    }

    @Test func `A connection that is to be kept goes on with the next line`() throws {
        let server = try ProbeServer("keep")
        let client = try server.connect()
        try client.send("fault nil-unwrap\nb\n")
        #expect(try client.line() == "b")
        #expect(try client.ask("c") == "c")
    }

    @Test func `A connection can have a policy of its own`() throws {
        let server = try ProbeServer("strict")
        let other = try server.connect()
        #expect(try other.ask("a") == "a")
        try server.connect().send("fault nil-unwrap\n")
        #expect(try server.process.output.next()?.hasPrefix("listening ") == true)
        #expect(try other.ask("b") == "b")
        #expect(try server.stop() == .exited(0))
        // The process may have ended before it came to the report of the one before.
        _ = try server.store.list()
        let decisions = try server.store.reports().map(\.verdict.decision)
        #expect(decisions == [.restart], "\(decisions)")
    }

    @Test(arguments: ["lines", "keep", "tasks"])
    func `Connections and their state outlive a restart, but not the one that was served`(mode: String) throws {
        let server = try ProbeServer(mode)
        let client = try server.connect()
        try client.send("set seven\nget\nge")
        #expect(try client.line() == "seven false")
        let culprit = try server.connect()
        // In one piece: a task takes the second line without having waited for it.
        try culprit.send("a\nrestart\n")
        #expect(try server.process.output.next()?.hasPrefix("listening ") == true)
        try client.send("t\n")
        #expect(try client.line() == "seven true")
        // The answer to the line before is there already: a task sends outside of the callout that has read it.
        if mode == "tasks" { #expect(try culprit.line() == "a") }
        if mode != "keep" { #expect(try culprit.line() == nil) }
        #expect(try server.connect().ask("new") == "new")
        #expect(try server.stop() == .exited(0))
    }

    @Test func `A line of a child that faults costs itself, and a restart finds the child again`() throws {
        let server = try ProbeServer("child")
        let client = try server.connect()
        try client.send("child one\n")
        let words = try #require(try server.process.output.next()).split(separator: " ")
        let pid = try #require(words.dropFirst().first)
        #expect(words == ["one", pid])
        // In one write: each callout that is abandoned leaves the lines behind it, and the kernel tells of nothing more.
        try client.send("child nil-unwrap\nchild two\n")
        #expect(try server.process.output.next() == "two \(pid)")
        try client.send("child nil-unwrap\nchild index-out-of-range\nchild overflow\nchild three\nchild four\n")
        #expect(try server.process.output.next() == "three \(pid)")
        #expect(try server.process.output.next() == "four \(pid)")
        try server.connect().send("restart\n")
        var lines: [String?] = []
        while lines.last != "ended: exited(0)", lines.count < 5 { lines.append(try server.process.output.next()) }
        // Its pipes ended with the process that had them, so cat ends.
        #expect(lines.contains("found again: \(pid)") && lines.last == "ended: exited(0)", "\(lines)")
        #expect(try server.process.wait() == .exited(0), "\(server.process.errors)")
    }

    @Test(arguments: [("over", []), ("bye", ["bye"])])
    func `What a peer has not taken, and the end behind it, come from the next process`(
        command: String,
        answers: [String]
    ) throws {
        let server = try ProbeServer("lines")
        let slow = try server.connect(receiveBuffer: 4096)
        try slow.send("big 7000000\n\(command)\n")
        let other = try server.connect()
        #expect(try other.ask("a") == "a")
        try other.send("restart\n")
        #expect(try server.process.output.next()?.hasPrefix("listening ") == true)
        #expect(try slow.line()?.utf8.count == 7_000_000)
        for answer in answers { #expect(try slow.line() == answer) }
        #expect(try slow.line() == nil)
    }
}
