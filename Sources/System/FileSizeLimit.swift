internal import Glibc

/// The limit of the size of files (setrlimit(2), `RLIMIT_FSIZE`), which holds for memory of memfd_create(2), too.
public enum FileSizeLimit {
    /// Calls a function that may exceed the limit: that then fails with `EFBIG`, and no signal ends the process.
    ///
    /// The signal is blocked on the calling thread meanwhile, and a pending one is discarded. Not safe to call from a signal handler.
    public static func withoutSignal<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var signals = sigset_t()
        var before = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGXFSZ)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, &before)
        defer {
            if unsafe sigismember(&before, SIGXFSZ) == 0 {
                var none = timespec()
                unsafe sigtimedwait(&signals, nil, &none)
                unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            }
        }
        return try body()
    }
}
