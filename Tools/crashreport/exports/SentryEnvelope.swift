package import CrashReports

/// A report as an envelope for Sentry, <https://develop.sentry.dev/sdk/foundations/transport/envelopes/>.
///
/// An envelope holds one event, so each report has an envelope of its own. The event has the identifier of the report:
/// Sentry drops an event that it has already, so a report can be sent again.
package struct SentryEnvelope: Sendable {
    /// What the report does not know.
    package struct Options: Sendable, Hashable {
        /// The release of the application; nil takes the tag `release`, else the name and build of the executable.
        package var release: String?
        /// Where it ran, such as `production`; nil takes the tag `environment`, else leaves it to Sentry.
        package var environment: String?
        /// Whether the report itself goes along as an attachment.
        package var attachesReport: Bool

        /// Makes options.
        ///
        /// - Parameters:
        ///   - release: The release of the application.
        ///   - environment: Where it ran, such as `production`.
        ///   - attachesReport: Whether the report itself goes along as an attachment.
        package init(release: String? = nil, environment: String? = nil, attachesReport: Bool = false) {
            self.release = release
            self.environment = environment
            self.attachesReport = attachesReport
        }
    }

    /// The largest event that Sentry takes, in bytes.
    static let maximumEventBytes = 1 << 20

    private let report: CrashReport
    private let options: Options

    /// Takes a report.
    ///
    /// - Parameters:
    ///   - report: The report.
    ///   - options: What the report does not know.
    package init(_ report: CrashReport, options: Options = Options()) {
        self.report = report
        self.options = options
    }

    /// Writes the envelope.
    ///
    /// - Returns: Lines of JSON, and the attachment if one was asked for; the lengths are those of the payloads in bytes.
    /// - Throws: `ReportFormatError` when the report cannot be written as JSON.
    package func bytes() throws(ReportFormatError) -> [UInt8] {
        // No `sent_at`: whoever sends the envelope knows when.
        var bytes = try JSONValue.members(["event_id": .string(report.id.rawValue), "sdk": SentryEvent.sdk]).line()
        let event = try eventBytes()
        bytes += try item(event, ["type": "event", "content_type": "application/json"])
        if options.attachesReport {
            bytes += try item(
                try report.json(),
                [
                    "type": "attachment", "attachment_type": "event.attachment", "content_type": "application/json",
                    "filename": .string("\(report.id).json"),
                ]
            )
        }
        return bytes + [newline]
    }

    /// The event, with less in it where it would be too large to be taken.
    private func eventBytes() throws(ReportFormatError) -> [UInt8] {
        var bytes: [UInt8] = []
        for detail in SentryEvent.Detail.steps {
            bytes = try SentryEvent(report, options: options, detail: detail).json.line()
            if bytes.count <= Self.maximumEventBytes { break }
        }
        return bytes
    }

    private func item(_ payload: [UInt8], _ headers: [String: JSONValue]) throws(ReportFormatError) -> [UInt8] {
        let headers = headers.merging(["length": .integer(payload.count)]) { $1 }
        return [newline] + (try JSONValue.object(headers).line()) + [newline] + payload
    }

    private let newline = UInt8(ascii: "\n")
}
