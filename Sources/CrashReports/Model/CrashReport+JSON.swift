internal import FoundationEssentials

extension CrashReport {
    /// Reads a report from the bytes of its JSON form.
    ///
    /// The bytes may be anything: whatever is wrong with them comes as an error.
    ///
    /// - Parameter json: UTF-8.
    /// - Throws: `ReportFormatError` when the bytes are no report, or one of another version.
    public init(json: [UInt8]) throws(ReportFormatError) {
        do {
            self = try JSONDecoder().decode(CrashReport.self, from: Data(json))
        } catch let error as UnsupportedSchemaVersion {
            throw ReportFormatError(code: .unsupportedVersion, explanation: error.description)
        } catch let error as DecodingError {
            throw ReportFormatError(code: .malformed, explanation: error.explanation)
        } catch {
            throw ReportFormatError(code: .malformed, explanation: "\(error)")
        }
    }

    /// Writes the JSON form of the report: pretty-printed, keys sorted, a newline at the end.
    ///
    /// - Returns: UTF-8 without any character that controls a terminal: those are escaped.
    /// - Throws: `ReportFormatError` when a number is infinite or not a number.
    public func json() throws(ReportFormatError) -> [UInt8] {
        try JSONText.encode(self)
    }
}
