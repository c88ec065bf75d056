import Glibc

/// Waits for what happens in a folder or to a file: inotify(7).
public enum FolderWatch {
    /// Waits until a condition holds, which is asked for again whenever something at the path changed.
    ///
    /// - Parameters:
    ///   - path: A folder or a file, which exists.
    ///   - limit: How long to wait.
    ///   - purpose: What is waited for, for the error.
    ///   - condition: Returns nil until it holds.
    /// - Returns: What the condition returned.
    /// - Throws: `HarnessError` when the time has passed.
    public static func wait<Value>(
        at path: String,
        within limit: Duration = Deadline.patience,
        for purpose: String,
        until condition: () throws -> Value?
    ) throws -> Value {
        let deadline = Deadline(limit)
        let descriptor = inotify_init1(CInt(IN_CLOEXEC | IN_NONBLOCK))
        guard descriptor >= 0 else { throw HarnessError(call: "inotify_init1", code: errno) }
        defer { close(descriptor) }
        let mask = UInt32(IN_MODIFY | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_CLOSE_WRITE)
        guard inotify_add_watch(descriptor, path, mask) >= 0 else {
            throw HarnessError(call: "inotify_add_watch \(path)", code: errno)
        }
        while true {
            // After the watch was set: what happens from here on wakes us.
            if let value = try condition() { return value }
            try deadline.wait(for: descriptor, POLLIN, purpose)
            var events = [UInt8](repeating: 0, count: 16 * 1024)
            while read(descriptor, &events, events.count) > 0 {}
        }
    }
}
