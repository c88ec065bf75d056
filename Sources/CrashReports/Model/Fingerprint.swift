/// What faults of the same cause have in common, such as `v1-9f86d081884c7d65`.
///
/// It is made of names only, so that it survives a rebuild that moves code, and a restart that loads it elsewhere.
/// The prefix changes whenever the rule does: fingerprints of different rules are never equal.
public struct Fingerprint: RawRepresentable, Codable, Sendable, Hashable, CustomStringConvertible {
    /// The text: the version of the rule, and 16 hexadecimal digits.
    public let rawValue: String

    /// How many frames count; those further out are about who called, not about what failed.
    static let frameLimit = 5

    /// Takes the text of a fingerprint.
    ///
    /// - Parameter rawValue: The text.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Makes the fingerprint of a fault.
    ///
    /// What counts is the kind, the signal and the innermost five frames of user code, by function name; a frame
    /// without a name counts by image and offset. A function that calls itself counts once. Without any user code, the
    /// innermost five frames of any code count.
    ///
    /// - Parameters:
    ///   - kind: What the report is about.
    ///   - signal: The name of the signal.
    ///   - frames: The frames, the innermost first.
    public init(kind: CrashReport.Kind, signal: String, frames: [CrashReport.Frame]) {
        let user = frames.filter(\.isApplicationCode)
        var names: [String] = []
        for frame in user.isEmpty ? frames.filter({ $0.runtimeFailure == nil }) : user {
            guard let name = frame.fingerprintName, name != names.last else { continue }
            names.append(name)
            if names.count == Self.frameLimit { break }
        }
        let digits = String(Self.hash([kind.rawValue, signal] + names), radix: 16)
        rawValue = "v1-" + String(repeating: "0", count: 16 - digits.count) + digits
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

extension CrashReport.Frame {
    /// How the frame counts for a fingerprint, if it has anything but an address.
    fileprivate var fingerprintName: String? {
        if let function { return function }
        guard let imageName, let imageOffset else { return nil }
        return "\(imageName)+\(imageOffset)"
    }
}
