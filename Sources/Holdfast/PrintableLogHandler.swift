internal import CrashReports
internal import Logging

/// The log of a host, whose lines contain texts that others chose: names, labels, paths, errors.
///
/// Unprintable characters are escaped here, whatever handler writes the line: with a newline, or a NUL in the journal, a text could make
/// lines of its own.
struct PrintableLogHandler: LogHandler {
    private var handler: any LogHandler

    /// Makes a handler.
    ///
    /// - Parameter handler: What writes the lines.
    init(_ handler: any LogHandler) {
        // A configuration may be that of an earlier host.
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

    /// An error whose text is printable is passed on unchanged: handlers may look at its type.
    private static func printable(_ error: any Error) -> any Error {
        let text = "\(error)"
        let visible = TerminalText.visible(text)
        return visible == text ? error : PrintableError(description: visible)
    }
}

extension EventHost.Configuration {
    /// The same configuration, with a log that escapes unprintable characters.
    var withPrintableLog: EventHost.Configuration {
        var result = self
        result.logger.handler = PrintableLogHandler(logger.handler)
        return result
    }
}

/// An error that consists of its escaped text.
private struct PrintableError: Error, CustomStringConvertible {
    let description: String
}
