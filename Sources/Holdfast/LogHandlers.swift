internal import CrashReports
internal import Glibc
public import Logging

/// Writes lines to the journal by way of standard error: with their priority, and without what the journal knows itself.
///
/// It is the default of a host whose standard error is the journal (systemd.exec(5), `JOURNAL_STREAM`) where the program has set up no
/// log of its own. A priority in front of a line is what sd-daemon(3) describes.
package struct JournalLogHandler: LogHandler {
    private let label: String
    /// What goes with every line.
    package var metadata: Logger.Metadata = [:]
    /// What is asked for more of that, for each line.
    package var metadataProvider: Logger.MetadataProvider?
    /// Lines below it are not written.
    package var logLevel = Logger.Level.info

    /// Makes a handler.
    ///
    /// - Parameter label: The label of what logs.
    package init(label: String) {
        self.label = label
    }

    /// A part of what goes with every line.
    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes a line, in one call.
    package func log(event: LogEvent) {
        let bytes = Array(line(of: event).utf8)
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    func line(of event: LogEvent) -> String {
        // A line of the journal's ends where one of the text does, or at a NUL, and the next would have the priority that it says.
        let words = text(of: event, label: label).split(whereSeparator: \.isNewline).joined(separator: " ")
        let line = TerminalText.visible(words)
        return "<\(Self.priority(of: event.level))>\(line)\n"
    }

    /// The priority of syslog(3).
    private static func priority(of level: Logger.Level) -> Int {
        switch level {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }

    /// Whether standard error is a stream to the journal.
    ///
    /// - Parameter stream: The value of `JOURNAL_STREAM`: device and inode of the stream, with a colon between them.
    /// - Returns: Whether it is that stream.
    static func isJournal(_ stream: String?) -> Bool {
        var status = stat()
        guard let stream, unsafe fstat(STDERR_FILENO, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    /// The logger of a host that was given none: the program's own, if it has set one up.
    static func standard(label: String, journal: String?) -> Logger {
        var logger = Logger(label: label)
        if logger.handler is StreamLogHandler, isJournal(journal) { logger.handler = JournalLogHandler(label: label) }
        return logger
    }
}

/// Keeps the last lines for the report of the next fault, and writes them nowhere else.
private struct BreadcrumbLogHandler: LogHandler {
    let label: String
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let line = text(of: event, label: label) { key, value in
            CrashContext.redaction.isSecretName(key) ? TextRedaction.mark : "\(value)"
        }
        CrashContext.note(line, level: event.level)
    }
}

extension CrashContext {
    /// Makes a log handler that keeps the last lines for the report of the next fault, and writes them nowhere else.
    ///
    /// Use it beside one that writes:
    /// `LoggingSystem.bootstrap { MultiplexLogHandler([CrashContext.logHandler(label: $0), StreamLogHandler.standardError(label: $0)]) }`.
    /// A line is the label, the message and the metadata, as `note(_:level:)` keeps it; metadata whose key looks like the name of a secret is
    /// redacted as a whole.
    ///
    /// - Parameters:
    ///   - label: The label of what logs.
    ///   - logLevel: Lines below it are not kept.
    /// - Returns: The handler.
    public static func logHandler(label: String, logLevel: Logger.Level = .info) -> any LogHandler {
        BreadcrumbLogHandler(label: label, logLevel: logLevel)
    }
}

/// The log of a host, whose lines tell of texts that others chose: names, labels, paths, errors.
///
/// What is not printable is escaped here, whatever handler writes it: the end of a line, or a NUL in the journal, would let a text make
/// lines of its own.
struct PrintableLogHandler: LogHandler {
    private var handler: any LogHandler

    /// Makes a handler.
    ///
    /// - Parameter handler: What writes the lines.
    init(_ handler: any LogHandler) {
        // A configuration may come from a host before.
        self.handler = (handler as? PrintableLogHandler)?.handler ?? handler
    }

    var logLevel: Logger.Level {
        get { handler.logLevel }
        set { handler.logLevel = newValue }
    }

    var metadata: Logger.Metadata {
        get { handler.metadata }
        set { handler.metadata = newValue }
    }

    var metadataProvider: Logger.MetadataProvider? {
        get { handler.metadataProvider }
        set { handler.metadataProvider = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { handler[metadataKey: key] }
        set { handler[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
        var event = event
        event.message = "\(TerminalText.visible("\(event.message)"))"
        event.error = event.error.map(Self.printable)
        event.metadata = event.metadata.map(Self.printable)
        handler.log(event: event)
    }

    private static func printable(_ metadata: Logger.Metadata) -> Logger.Metadata {
        var result: Logger.Metadata = [:]
        for (key, value) in metadata { result[TerminalText.visible(key)] = printable(value) }
        return result
    }

    private static func printable(_ value: Logger.Metadata.Value) -> Logger.Metadata.Value {
        switch value {
        case .string(let text): .string(TerminalText.visible(text))
        case .stringConvertible(let other): .string(TerminalText.visible(other.description))
        case .dictionary(let values): .dictionary(printable(values))
        case .array(let values): .array(values.map(printable))
        }
    }

    /// An error whose text is printable is passed on as it is: handlers may look at its type.
    private static func printable(_ error: any Error) -> any Error {
        let text = "\(error)"
        let visible = TerminalText.visible(text)
        return visible == text ? error : PrintableError(description: visible)
    }
}

extension EventHost.Configuration {
    /// The same, with a log that escapes what is not printable.
    var withPrintableLog: EventHost.Configuration {
        var result = self
        result.logger.handler = PrintableLogHandler(logger.handler)
        return result
    }
}

/// An error of which only the text is left.
private struct PrintableError: Error, CustomStringConvertible {
    let description: String
}

extension LogHandler {
    /// A line of Holdfast's own handlers: the label, the message, its error, and all metadata by key.
    ///
    /// - Parameters:
    ///   - event: What is logged.
    ///   - label: The label of what logs; "" for none.
    ///   - told: What is said of a value of the metadata.
    /// - Returns: The line, without its end.
    func text(
        of event: LogEvent,
        label: String,
        telling told: (_ key: String, _ value: Logger.Metadata.Value) -> String = { "\($1)" }
    ) -> String {
        var text = label.isEmpty ? "\(event.message)" : "\(label): \(event.message)"
        if let error = event.error { text += ": \(error)" }
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
        if let own = event.metadata { all.merge(own) { $1 } }
        for (key, value) in all.sorted(by: { $0.key < $1.key }) { text += " \(key)=\(told(key, value))" }
        return text
    }
}

extension Duration {
    /// The duration as a log says it: in seconds, or milliseconds below one, with three digits at most behind the point.
    var inWords: String {
        // A duration is a number of attoseconds: 1.6 s comes of arithmetic as 1.600000000000000001 s.
        let (seconds, attoseconds) = components
        let milliseconds = attoseconds / 1_000_000_000_000_000
        if seconds == 0 { return "\(milliseconds) ms" }
        guard milliseconds != 0 else { return "\(seconds) s" }
        var digits = "\(1000 + abs(milliseconds))".dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(seconds).\(digits) s"
    }
}
