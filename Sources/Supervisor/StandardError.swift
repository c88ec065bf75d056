internal import Glibc
internal import LinuxSystem

/// Our own standard error, on which the supervisor never waits for a reader.
enum StandardError {
    /// What is written to: for a terminal an open file of our own that does not block.
    ///
    /// A terminal is writable with room for one byte, and would make us wait for the rest.
    static let descriptor: CInt = {
        guard isatty(STDERR_FILENO) == 1 else { return STDERR_FILENO }
        let flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
        let own = unsafe open("/proc/self/fd/\(STDERR_FILENO)", flags)
        return own < 0 ? STDERR_FILENO : own
    }()

    /// Whether something can be written now.
    enum Room {
        case some, none
        /// Nobody reads it any more.
        case never
    }

    static var room: Room {
        let readiness = Readiness.now(of: descriptor, for: .writable)
        if readiness.contains(.writable) { return .some }
        // A full pipe without a reader is in error, and never has room (poll(2), POLLERR).
        return readiness.isDisjoint(with: [.error, .hangUp]) ? .none : .never
    }

    /// Writes some bytes, of which a pipe with room takes up to 4096 (pipe(7), PIPE_BUF).
    ///
    /// - Returns: How many were taken; less than 0 with `errno`.
    static func write(_ bytes: ArraySlice<UInt8>) -> Int {
        unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}
