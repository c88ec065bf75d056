import Foundation
import Glibc
import TestSupport
import Testing

/// What becomes of requests in fault boundaries when the process is replaced for a fault that is not resumed.
@Suite(.serialized, .timeLimit(.minutes(5))) struct RequestsUnderWayTests {
    private let port: UInt16
    private let server: ChildProcess

    init() throws { try self.init(["PATIENT"]) }

    // With PATIENT it waits so long that no test is too slow for it.
    private init(_ settings: [String]) throws {
        port = try Loopback.freePort()
        server = try ChildProcess(
            BuiltProduct.path(of: "async-server"),
            ["tcp:\(port)", StoreReader().path],
            environment: Dictionary(uniqueKeysWithValues: settings.map { ($0, "1") })
        )
        try awaitServer()
    }

    private func awaitServer() throws {
        #expect(try server.output.next() == "began \(server.pid)")
        #expect(try server.output.next() == "up \(server.pid)")
    }

    private func end() throws {
        kill(server.pid, SIGKILL)
        _ = try server.wait()
    }

    /// What is sent by a client that waits for its answer, or sees its connection end.
    private func request(_ word: String) throws -> LineClient {
        let client = try LineClient(port: port)
        #expect(try client.ask(word) == "begun")
        return client
    }

    @Test(arguments: ["fault in a task", "fault"])
    func `Those that are under way are answered before a restart in place`(fault: String) throws {
        for _ in 0..<5 {
            let clients = try (0..<8).map { _ in try request("work") }
            try LineClient(port: port).send("\(fault)\n")
            for client in clients { #expect(try client.line() == "\(server.pid)") }
            try awaitServer()
        }
        try end()
    }

    @Test(arguments: [false, true])
    func `Who comes while the process waits for others is answered, by it or by the next one`(closes: Bool) throws {
        try end()
        let run = try Self(closes ? ["PATIENT", "CLOSES"] : ["PATIENT"])
        let clients = (0..<4).map { _ in Requests(port: run.port) }
        for _ in 0..<8 {
            try LineClient(port: run.port).send("fault in a task\n")
            try run.awaitServer()
            // All of them have come to an answer of this process.
            let counts = clients.map(\.answered)
            let deadline = Deadline()
            while zip(clients, counts).contains(where: { $0.answered < $1 + 2 && !$0.hasEnded }) {
                try #require(!deadline.hasPassed)
                usleep(1000)
            }
        }
        for client in clients { #expect(client.end() == nil) }
        try run.end()
    }

    @Test func `The clients of an event loop that faults meanwhile are told at once`() throws {
        // Waited for, for longer than this test may take.
        _ = try request("hang")
        let client = try LineClient(port: port)
        #expect(try client.ask("keep") == "kept")
        try LineClient(port: port).send("fault in a task, then in the loop\n")
        #expect(try client.line() == nil)
        #expect(kill(server.pid, 0) == 0)
        try end()
    }

    @Test func `One that never ends is given up`() throws {
        try end()
        let run = try Self(["HASTY"])
        let client = try run.request("hang")
        try LineClient(port: run.port).send("fault in a task\n")
        #expect(try client.line() == nil)
        try run.awaitServer()
        try run.end()
    }
}

/// A client that asks again and again, each time over a new connection.
private final class Requests: @unchecked Sendable {
    private let lock = NSLock()
    private var count = 0
    private var isToEnd = false
    private var problem: String?
    private let isDone = DispatchSemaphore(value: 0)
    private var isOver = false

    init(port: UInt16) {
        Thread.detachNewThread { [self] in
            while !lock.withLock({ isToEnd || problem != nil }) {
                do {
                    let client = try LineClient(port: port)
                    let words = [try client.ask("work"), try client.line()]
                    let isAnswered = words[0] == "begun" && words[1] != nil
                    lock.withLock { if isAnswered { count += 1 } else { problem = "\(words) after \(count)" } }
                } catch { lock.withLock { problem = "\(error)" } }
            }
            lock.withLock { isOver = true }
            isDone.signal()
        }
    }

    var answered: Int { lock.withLock { count } }
    var hasEnded: Bool { lock.withLock { isOver } }

    /// Returns what went wrong.
    func end() -> String? {
        lock.withLock { isToEnd = true }
        isDone.wait()
        return lock.withLock { problem }
    }
}
