internal import CrashReports
public import Logging

/// A log handler that keeps the last lines for the report of the next fault, and writes them nowhere else.
///
/// A line is the label, the message and the metadata, as `CrashContext.note(_:level:)` keeps it; metadata whose key looks like the
/// name of a secret is redacted as a whole.
package struct BreadcrumbLogHandler: LogHandler {
    /// The label of the logger.
    private let label: String
    /// The metadata of every line.
    package var metadata: Logger.Metadata = [:]
    /// Gives more metadata for each line.
    package var metadataProvider: Logger.MetadataProvider?
    /// Lines below it are not kept.
    package var logLevel: Logger.Level

    /// Makes a handler.
    ///
    /// - Parameters:
    ///   - label: The label of what logs.
    ///   - logLevel: Lines below it are not kept.
    package init(label: String, logLevel: Logger.Level = .info) {
        self.label = label
        self.logLevel = logLevel
    }

    /// A value of the metadata of every line.
    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Keeps a line.
    package func log(event: LogEvent) {
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
    ///   - label: The label of the logger.
    ///   - logLevel: Lines below it are not kept.
    /// - Returns: The handler.
    public static func logHandler(label: String, logLevel: Logger.Level = .info) -> any LogHandler {
        BreadcrumbLogHandler(label: label, logLevel: logLevel)
    }
}
