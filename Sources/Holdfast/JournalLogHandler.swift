internal import CrashReports
internal import Glibc
package import Logging

/// Writes lines to the journal by way of standard error, with their priority, and without what the journal adds itself.
///
/// It is the default of a host if standard error is the journal (systemd.exec(5), `JOURNAL_STREAM`) and the program has set up no log of
/// its own. sd-daemon(3) describes the priority in front of a line.
package struct JournalLogHandler: LogHandler {
    private let label: String
    /// The metadata of every line.
    package var metadata: Logger.Metadata = [:]
    /// Gives more metadata for each line.
    package var metadataProvider: Logger.MetadataProvider?
    /// Lines below it are not written.
    package var logLevel = Logger.Level.info

    /// Makes a handler.
    ///
    /// - Parameter label: The label of what logs.
    package init(label: String) {
        self.label = label
    }

    /// A value of the metadata of every line.
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
        // A newline or a NUL in the text would end the journal's line, and the rest would have a priority of its own choice.
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
