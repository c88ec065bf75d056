internal import CrashReports
public import Logging

/// A log handler that keeps the last lines for the report of the next fault, and writes them nowhere else.
///
/// Use it beside the one that writes:
/// `LoggingSystem.bootstrap { MultiplexLogHandler([BreadcrumbLogHandler(label: $0), StreamLogHandler.standardError(label: $0)]) }`.
/// A line is the label, the message and the metadata, as `CrashContext.note(_:level:)` keeps it; metadata whose key looks like the
/// name of a secret is redacted as a whole.
public struct BreadcrumbLogHandler: LogHandler {
    /// Of what logs.
    private let label: String
    /// What goes with every line.
    public var metadata: Logger.Metadata = [:]
    /// What is asked for more of that, for each line.
    public var metadataProvider: Logger.MetadataProvider?
    /// Lines below it are not kept.
    public var logLevel: Logger.Level

    /// Makes a handler.
    ///
    /// - Parameters:
    ///   - label: The label of what logs.
    ///   - logLevel: Lines below it are not kept.
    public init(label: String, logLevel: Logger.Level = .info) {
        self.label = label
        self.logLevel = logLevel
    }

    /// A part of what goes with every line.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Keeps a line.
    public func log(event: LogEvent) {
        let line = text(of: event, label: label) { key, value in
            CrashContext.redaction.isSecretName(key) ? TextRedaction.mark : "\(value)"
        }
        CrashContext.note(line, level: event.level)
    }
}
