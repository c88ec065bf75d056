/// How long ago something was, in words.
package struct Age: Sendable, Hashable {
    private let seconds: Int64

    /// Measures the time from one moment to another.
    ///
    /// - Parameters:
    ///   - now: The present.
    ///   - past: When it was.
    package init(_ now: Timestamp, since past: Timestamp) {
        // Both are below 2^58.
        seconds = (now.microsecondsSinceEpoch - past.microsecondsSinceEpoch) / 1_000_000
    }

    /// The time in its largest unit, such as `3 minutes ago`.
    package var text: String {
        switch seconds {
        case ..<0: "in the future by the clock of this machine"
        case ..<2: "just now"
        case ..<120: "\(seconds) seconds ago"
        case ..<7200: "\(seconds / 60) minutes ago"
        case ..<172_800: "\(seconds / 3600) hours ago"
        default: "\(seconds / 86400) days ago"
        }
    }
}

/// Numbers with what they count.
package enum Count {
    /// Such as `once` or `3 times`.
    package static func times(_ count: Int) -> String {
        count == 1 ? "once" : "\(count) times"
    }

    /// Such as `1 frame` or `3 frames`.
    package static func of(_ count: Int, _ noun: String, _ several: String? = nil) -> String {
        count == 1 ? "1 \(noun)" : "\(count) \(several ?? noun + "s")"
    }
}

/// A number of bytes, in words.
package struct ByteCount: Sendable, Hashable {
    private let bytes: Int

    /// Takes a number of bytes.
    ///
    /// - Parameter bytes: The number.
    package init(_ bytes: Int) {
        self.bytes = bytes
    }

    /// The number in its largest unit with one decimal, such as `12.3 MiB`.
    package var text: String {
        var value = Double(bytes)
        guard value.magnitude >= 1024 else { return "\(bytes) B" }
        var unit = ""
        for name in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] where value.magnitude >= 1024 {
            value /= 1024
            unit = name
        }
        return "\((value * 10).rounded() / 10) \(unit)"
    }
}
