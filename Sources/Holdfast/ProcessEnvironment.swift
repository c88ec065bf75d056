internal import Glibc

/// The environment of this process.
enum ProcessEnvironment {
    /// As `key=value`, in its order and byte for byte: it need not be UTF-8.
    static var entries: [[UInt8]] {
        var entries: [[UInt8]] = []
        // NULL after clearenv(3).
        var next = unsafe Optional(environ)
        while let place = unsafe next, let entry = unsafe place.pointee {
            let bytes = unsafe UnsafeRawBufferPointer(start: entry, count: strlen(entry))
            entries.append(unsafe Array(bytes))
            unsafe next = unsafe place + 1
        }
        return entries
    }

    /// The value of a variable; nil if it is not set.
    static func value(of key: String) -> String? { unsafe getenv(key).map { unsafe String(cString: $0) } }

    /// By key, for those that are UTF-8.
    static var values: [String: String] {
        var values: [String: String] = [:]
        for entry in entries {
            let parts = entry.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let key = String(validating: parts[0], as: UTF8.self),
                let value = String(validating: parts[1], as: UTF8.self)
            else { continue }
            values[key] = value
        }
        return values
    }
}
