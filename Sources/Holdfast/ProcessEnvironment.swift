internal import Glibc

/// The environment of this process.
enum ProcessEnvironment {
    /// As `key=value`, in its order.
    static var entries: [String] {
        var entries: [String] = []
        // NULL after clearenv(3).
        var next = unsafe Optional(environ)
        while let place = unsafe next, let entry = unsafe place.pointee {
            unsafe entries.append(String(cString: entry))
            unsafe next = unsafe place + 1
        }
        return entries
    }

    /// By key.
    static var values: [String: String] {
        var values: [String: String] = [:]
        for entry in entries {
            let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
        }
        return values
    }
}
