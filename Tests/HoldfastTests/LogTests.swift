import Glibc
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Holdfast

/// What the host's log says of faults.
@Suite(.timeLimit(.minutes(10))) struct LogTests {
    @Test func `A fault that was resumed has one line, with all that is needed without the store`() throws {
        let run = try HostRun("log", "names")
        let lines = try run.lines()
        #expect(try run.process.wait() == .exited(0))
        let told = run.process.errors.split(separator: "\n").filter { $0.contains("fault 1 resumed") }
        #expect(told.count == 1, "\(run.process.errors)")
        let line = try #require(told.first)
        let reason = "fault 1 resumed: Unexpectedly found nil while unwrapping an Optional value"
        let item = #"item "greeter" (timer), report "#
        #expect(line.contains(reason + " in faultNilUnwrap() at SwiftFaults.swift:") && line.contains(item))
        // What a handler prints says the same, but for what takes time: names, and in release the reason, which they tell.
        let message = try #require(lines.first)
        let early = BuiltProduct.isDebug ? reason : "fault 1 resumed: illegal instruction"
        #expect(message.hasPrefix(early) && message.contains(item), "\(message)")
        #expect(line.hasSuffix(message.suffix(12)), "\(message)")
    }

    @Test func `Where standard error is the journal, lines have a priority`() throws {
        // The shell says what systemd would.
        let stream = #"export JOURNAL_STREAM="$(stat -L -c %d:%i /dev/stderr)"; exec "$@""#
        let run = try HostRun("log", "names", shell: stream)
        _ = try run.lines()
        #expect(try run.process.wait() == .exited(0))
        #expect(run.process.errors.contains("<4>holdfast: fault 1 resumed: "), "\(run.process.errors)")
        let other = try HostRun("log", "names", environment: ["JOURNAL_STREAM": "1:1"])
        _ = try other.lines()
        #expect(!other.process.errors.contains("<4>"), "\(other.process.errors)")
    }

    @Test func `A line of the journal stays one line`() {
        let handler = JournalLogHandler(label: "agent")
        let event = LogEvent(
            level: .critical,
            message: "first\nsecond",
            error: nil,
            metadata: ["b": "2", "a": "1\n0"],
            source: "",
            file: "",
            function: "",
            line: 0
        )
        #expect(handler.line(of: event) == "<2>agent: first second a=1 0 b=2\n")
    }

    @Test func `The journal gets no end of a line and no control character from a text`() {
        let handler = JournalLogHandler(label: "a\u{0}b")
        let event = LogEvent(
            level: .error,
            message: "one\u{0}<2>two\u{1b}[31m\r\n<2>three\u{2028}\u{202e}é",
            error: nil,
            metadata: ["k\u{0}": "\u{7f}\u{85}v"],
            source: "",
            file: "",
            function: "",
            line: 0
        )
        let line = handler.line(of: event)
        #expect(line == #"<3>a\u{0}b: one\u{0}<2>two\u{1b}[31m <2>three \u{202e}é k\u{0}=\u{7f} v"# + "\n")
    }

    @Test func `Whatever handler a host has, its lines have no text that is not printable`() {
        struct Broken: Error, CustomStringConvertible { let description = "broken\r" }
        let inner = LineHandler()
        let handler = PrintableLogHandler(PrintableLogHandler(inner))
        let event = LogEvent(
            level: .error,
            message: "a\nb",
            error: Broken(),
            metadata: ["x": .stringConvertible(Broken()), "y": ["\u{1b}", .dictionary(["\n": "é\u{0}"])]],
            source: "",
            file: "",
            function: "",
            line: 0
        )
        handler.log(event: event)
        let line = inner.lines.withLock { $0.first }
        // An array's and a dictionary's own words escape the backslash once more.
        #expect(line?.hasPrefix(#"a\u{a}b: broken\u{d} x=broken\u{d} y=["#) == true, "\(line ?? "")")
        #expect(line?.utf8.contains { $0 < 0x20 } == false)
    }

    @Test func `A duration is said without the remains of arithmetic`() {
        let durations: [Duration] = [.milliseconds(200), .seconds(2), .milliseconds(1600), .milliseconds(2005), .zero]
        #expect(durations.map(\.inWords) == ["200 ms", "2 s", "1.6 s", "2.005 s", "0 ms"])
        #expect((Duration.seconds(2) * 1.000000000000001).inWords == "2 s")
    }

    @Test func `Stalls are watched unless somebody says otherwise`() {
        #expect(EventHost.Configuration.conservative.stallPolicy?.writesReports == true)
    }
}

/// Keeps its lines.
private final class LineHandler: LogHandler {
    let lines = Mutex<[String]>([])
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .info }
        set {}
    }

    subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        let line = text(of: event, label: "")
        lines.withLock { $0.append(line) }
    }
}
