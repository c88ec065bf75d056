internal import CCrashCapture

/// How much a store may hold, as the spool file says it to whoever finishes the records of the process.
public struct StoreLimits: Sendable {
    /// How many reports; nil for any number.
    public var reports: Int?
    /// How many bytes; nil for any number.
    public var bytes: Int?
    /// For how many seconds; nil for any time.
    public var ageSeconds: Int?

    /// Makes limits; what is not given is not limited.
    public init(reports: Int? = nil, bytes: Int? = nil, ageSeconds: Int? = nil) {
        self.reports = reports
        self.bytes = bytes
        self.ageSeconds = ageSeconds
    }

    /// Writes them into the header of a spool file.
    func write(to header: UnsafeMutablePointer<HFSpoolHeader>) {
        let words = [reports, bytes, ageSeconds].map { $0.map { UInt64(clamping: $0) + 1 } ?? .max }
        unsafe header.pointee.limit_reports = words[0]
        unsafe header.pointee.limit_bytes = words[1]
        unsafe header.pointee.limit_age_seconds = words[2]
        unsafe header.pointee.limit_check = words.reduce(UInt64(HF_LIMIT_CHECK), ^)
    }
}
