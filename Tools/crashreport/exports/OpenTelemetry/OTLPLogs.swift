package import CrashReports

/// Reports as log records of OpenTelemetry: `LogsData` in the JSON form of OTLP.
///
/// <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>: numbers of 64 bits are strings, identifiers are
/// hexadecimal digits, severities are numbers. The keys are those of the semantic conventions, and `holdfast.` where
/// there is none.
package struct OTLPLogs: Sendable {
    /// The semantic conventions that the keys are taken from.
    static let schema = "https://opentelemetry.io/schemas/1.37.0"

    private let reports: [CrashReport]
    private let observed: Timestamp

    /// Takes reports.
    ///
    /// - Parameters:
    ///   - reports: The reports, in the order of their records.
    ///   - observed: When the reports were collected.
    package init(_ reports: [CrashReport], observed: Timestamp = .now) {
        self.reports = reports
        self.observed = observed
    }

    /// Writes the records as one document, those of the same process under one resource.
    ///
    /// - Returns: JSON on one line, with a newline at the end.
    /// - Throws: `ReportFormatError` when a report cannot be written as JSON.
    package func bytes() throws(ReportFormatError) -> [UInt8] {
        var order: [[JSONValue]] = []
        var records: [[JSONValue]: [JSONValue]] = [:]
        for report in reports {
            let resource = report.openTelemetryResource
            if records[resource] == nil { order.append(resource) }
            records[resource, default: []].append(OTLPRecord(report, observed: observed).json)
        }
        let resources = order.map { resource in
            JSONValue.object([
                "resource": .object(["attributes": .array(resource)]),
                "scopeLogs": .array([
                    .object([
                        "scope": .object(["name": "holdfast", "version": .string(HoldfastVersion.current)]),
                        "logRecords": .array(records[resource] ?? []),
                        "schemaUrl": .string(Self.schema),
                    ])
                ]),
                "schemaUrl": .string(Self.schema),
            ])
        }
        return try JSONValue.object(["resourceLogs": .array(resources)]).line() + [UInt8(ascii: "\n")]
    }
}
