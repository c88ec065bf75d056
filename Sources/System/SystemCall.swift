import Glibc
public import SystemPackage

#if !os(Linux)
#error("Holdfast runs on Linux only: epoll and eventfd have no counterpart here.")
#endif

/// Calls into the C library, whose errors it turns into typed throws.
///
/// The only place where `errno` is read.
public enum SystemCall {
    /// Makes a call and returns its result.
    ///
    /// - Parameters:
    ///   - retryOnInterrupt: Whether to repeat the call if a signal handler interrupted it (`EINTR`).
    ///   - body: The call: it returns -1 on failure, with `errno` set.
    /// - Returns: What the call returned.
    /// - Throws: The error that `errno` named.
    @discardableResult
    public static func checked<Value: FixedWidthInteger & SignedInteger>(
        retryOnInterrupt: Bool = true,
        _ body: () -> Value
    ) throws(Errno) -> Value {
        while true {
            let value = body()
            guard value == -1 else { return value }
            let error = Errno(rawValue: errno)
            guard retryOnInterrupt, error == .interrupted else { throw error }
        }
    }
}
