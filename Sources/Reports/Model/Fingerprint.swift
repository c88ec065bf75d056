internal import LinuxSystem

/// What faults of the same cause have in common, such as `v2-9f86d081884c7d65`.
///
/// It is made of names only, so that it survives a rebuild that moves code, and a restart that loads it elsewhere.
/// The prefix changes whenever the rule does: fingerprints of different rules are never equal.
public struct Fingerprint: RawRepresentable, Codable, Sendable, Hashable, CustomStringConvertible {
    /// The text: the version of the rule, and 16 hexadecimal digits.
    public let rawValue: String

    /// Takes the text of a fingerprint.
    ///
    /// - Parameter rawValue: The text.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Makes the fingerprint of a report, whatever fingerprint it has: `Documentation/CrashReportFormat.md` has the rule.
    ///
    /// - Parameter report: The report; its kind, its fault and the thread that faulted count.
    package init(of report: CrashReport) {
        self.init(fields: FingerprintFields(of: report).all)
    }

    init(fields: [String]) {
        rawValue = "v2-" + HexDigits.text(Self.hash(fields), count: 16)
    }

    /// The text.
    public var description: String { rawValue }

    /// FNV-1a with 64 bits: the hashes of the standard library differ from run to run.
    private static func hash(_ fields: [String]) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for field in fields {
            for byte in field.utf8 {
                hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
            }
            // A byte that UTF-8 never has ends the field: ["ab", "c"] is not ["a", "bc"].
            hash = (hash ^ 0xff) &* 0x100_0000_01b3
        }
        return hash
    }
}
