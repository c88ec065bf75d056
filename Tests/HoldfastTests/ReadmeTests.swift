import CrashReports
import Foundation
import Glibc
import TestSupport
import Testing

/// The examples of README, built and run as they stand there.
@Suite(.timeLimit(.minutes(10))) struct ReadmeTests {
    private static let storeLine = "configuration.store = \"/tmp/greeter-reports\"\n"
    private static let policyLine = "var configuration = EventHost.Configuration.keepServing\n"
    private static let givingUpLine = "configuration.givesUpAfter = 3"

    private static func text(_ path: String) throws -> String {
        try String(contentsOfFile: "\(BuiltProduct.package)/\(path)", encoding: .utf8)
    }

    /// The first Swift code behind a text.
    private static func code(behind text: String) throws -> String {
        let readme = try Self.text("README.md")
        let place = try #require(readme.range(of: text))
        let head = try #require(readme.range(of: "```swift\n", range: place.upperBound..<readme.endIndex))
        let end = try #require(readme.range(of: "```", range: head.upperBound..<readme.endIndex))
        return String(readme[head.upperBound..<end.lowerBound])
    }

    /// What README shows, without the store, which each run has for itself.
    private static func example() throws -> String {
        let program = try code(behind: "`Sources/greeter/main.swift`")
        #expect(program.contains(storeLine))
        return program.replacing(storeLine, with: "")
    }

    @Test func `README shows what is built here`() throws {
        let example = try Self.example()
        #expect(try Self.text("Tests/Programs/greeter/main.swift") == example)
        #expect(try Self.text("README.md").contains("`\(Self.givingUpLine)`"))
        #expect(
            try Self.text("Tests/Programs/mortal-greeter/main.swift")
                == example.replacing(Self.policyLine, with: Self.policyLine + Self.givingUpLine + "\n")
        )
    }

    /// It is run with the other example of servers, by ExampleTests.
    @Test func `README's server is built here`() throws {
        #expect(try Self.code(behind: "This is an echo server") == Self.text("Tests/Programs/echo-server/main.swift"))
    }

    @Test func `A program of a port says what it reads`() throws {
        let store = try StoreReader()
        let echo = try ChildProcess(
            "/bin/sh",
            ["-c", "echo hello | \"$0\"", BuiltProduct.path(of: "echo")],
            environment: ["HOLDFAST_STORE": store.path]
        )
        #expect(try echo.output.next() == "1: hello")
        #expect(try echo.wait() == .exited(0), "\(echo.errors)")
    }

    @Test func `A program that throws at its top level ends, and is not restarted`() throws {
        let store = try StoreReader()
        let echo = try ChildProcess(
            "/bin/sh",
            ["-c", "exec \"$0\" < /dev/null", BuiltProduct.path(of: "echo")],
            environment: ["HOLDFAST_STORE": store.path]
        )
        let end = try echo.wait()
        #expect(end == .signalled(SIGILL) || end == .signalled(SIGTRAP), "\(end)")
        #expect(
            echo.errors.contains("the kernel waits for sockets, pipes and terminals, not for this kind of file"),
            "\(echo.errors)"
        )
        let verdict = try store.onlyReport().verdict
        #expect(verdict.decision == .terminate && verdict.reason.contains("an error that nobody caught"))
    }

    @Test func `It greets, and ends with status 0 when it is told to`() throws {
        let store = try StoreReader()
        // Its output is not a terminal's: without it, what it prints would come when it ends.
        let greeter = try ChildProcess(
            "/usr/bin/stdbuf",
            ["-oL", BuiltProduct.path(of: "greeter")],
            environment: ["HOLDFAST_STORE": store.path]
        )
        // It faults now and then, and says so: that may be the first thing that it says.
        var line = try greeter.output.next()
        while let text = line, !text.hasPrefix("Hello ") { line = try greeter.output.next() }
        #expect(line != nil)
        greeter.kill(SIGTERM)
        #expect(try greeter.wait() == .exited(0), "\(greeter.errors)")
    }

    @Test func `In a crash loop it gives up with status 125, where that is wanted`() throws {
        let store = try StoreReader()
        let history = "HOLDFAST_PID=$$ HOLDFAST_RESTARTS=40 HOLDFAST_EARLY_RESTARTS=40 HOLDFAST_LAST_PHASE=running"
        let greeter = try ChildProcess(
            "/bin/sh",
            ["-c", "export \(history); exec \"$0\"", BuiltProduct.path(of: "mortal-greeter")],
            environment: ["HOLDFAST_STORE": store.path]
        )
        #expect(try greeter.wait() == .exited(125), "\(greeter.errors)")
    }
}
