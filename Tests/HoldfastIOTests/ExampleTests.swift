import Foundation
import Glibc
import TestSupport
import Testing

/// The programs of Documentation/IO.md, built and run as they stand there.
@Suite(.timeLimit(.minutes(5))) struct ExampleTests {
    private static func text(_ path: String) throws -> String {
        try String(contentsOfFile: "\(BuiltProduct.package)/\(path)", encoding: .utf8)
    }

    /// The code behind the mention of a program, which is short.
    private static func expectShown(_ program: String) throws {
        let path = "Tests/Programs/\(program)/main.swift"
        let page = try text("Documentation/IO.md")
        let place = try #require(page.range(of: "`\(path)`"))
        let head = try #require(page.range(of: "```swift\n", range: place.upperBound..<page.endIndex))
        let end = try #require(page.range(of: "```", range: head.upperBound..<page.endIndex))
        let code = page[head.upperBound..<end.lowerBound]
        #expect(try code == text(path))
        #expect(code.split(separator: "\n").count <= 20)
    }

    @Test func `The echo server survives a fault in a handler`() throws {
        try Self.expectShown("echo-server")
        let store = try StoreReader()
        let server = try ChildProcess(
            BuiltProduct.path(of: "echo-server"),
            ["0"],
            environment: ["HOLDFAST_STORE": store.path]
        )
        let line = try #require(try server.output.next())
        let port = try #require(line.split(separator: ":").last.flatMap { UInt16($0) })
        let client = try LineClient(port: port)
        #expect(try client.ask("hello") == "hello")
        let victim = try LineClient(port: port)
        try victim.send("fault\n")
        #expect(try victim.line() == nil)
        #expect(try client.ask("again") == "again")
        server.kill(SIGTERM)
        #expect(try server.wait() == .exited(0), "\(server.errors)")
    }

    @Test func `The supervisor without a command says how it is used`() throws {
        let run = try ProgramRun.run(BuiltProduct.path(of: "child-supervisor"), [])
        #expect(run.end == .exited(64))
        #expect(run.output.hasPrefix("usage: "))
    }

    @Test func `The supervisor starts a command again, and ends it when it is told to`() throws {
        try Self.expectShown("child-supervisor")
        let store = try StoreReader()
        let supervisor = try ChildProcess(
            BuiltProduct.path(of: "child-supervisor"),
            [
                "/bin/sh", "-c", "echo started $$; test -e \"$0\" || { touch \"$0\"; exit 3; }; exec sleep 1000",
                store.path + "/once",
            ],
            environment: ["HOLDFAST_STORE": store.path]
        )
        #expect(try supervisor.output.next()?.hasPrefix("started ") == true)
        #expect(try supervisor.output.next() == "exited(3), again in 0.1 seconds")
        let line = try #require(try supervisor.output.next())
        let pid = try #require(pid_t(line.dropFirst("started ".count)))
        supervisor.kill(SIGTERM)
        #expect(try supervisor.wait() == .exited(0), "\(supervisor.errors)")
        #expect(Glibc.kill(pid, 0) != 0 && errno == ESRCH, "the child has ended, and is no zombie")
    }
}
