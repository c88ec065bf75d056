/// Bytes are not a report, or a report cannot be written as bytes.
public struct ReportFormatError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of error it is.
    package enum Code: Sendable {
        /// The bytes are not JSON, or not that of a report.
        case malformed
        /// The report is of a version that this library does not read.
        case unsupportedVersion
        /// The value has something that JSON cannot say.
        case unrepresentable
    }

    /// What kind of error it is.
    package let code: Code

    /// What is wrong, and where.
    public let description: String

    init(code: Code, explanation: String) {
        self.code = code
        description = explanation
    }
}

extension DecodingError {
    /// What is wrong and where, in one line.
    var explanation: String {
        switch self {
        case .keyNotFound(let key, let context): "the key \(path(context, key)) is missing"
        case .valueNotFound(_, let context): "\(path(context)) is null"
        case .typeMismatch(let type, let context): "\(path(context)) is not of type \(type)"
        case .dataCorrupted(let context):
            context.codingPath.isEmpty ? "not valid JSON" : "\(path(context)): \(context.debugDescription)"
        @unknown default: "not a report"
        }
    }

    private func path(_ context: Context, _ key: (any CodingKey)? = nil) -> String {
        let keys = context.codingPath + (key.map { [$0] } ?? [])
        guard !keys.isEmpty else { return "the report" }
        return keys.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
    }
}

extension EncodingError {
    /// What is wrong and where, in one line.
    var explanation: String {
        switch self {
        case .invalidValue(let value, let context):
            "JSON cannot say \(value) for \(context.codingPath.map(\.stringValue).joined(separator: "."))"
        @unknown default: "JSON cannot say it"
        }
    }
}
