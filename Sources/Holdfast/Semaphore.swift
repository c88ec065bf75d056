internal import Glibc

/// A counting semaphore: sem_overview(7).
@safe
final class Semaphore: Sendable {
    /// Never moves: POSIX identifies a semaphore by its address.
    private nonisolated(unsafe) let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        unsafe semaphore = .allocate(capacity: 1)
        unsafe sem_init(semaphore, 0, 0)
    }

    deinit {
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    /// Takes the signals that came meanwhile, without waiting.
    func drain() {
        while unsafe sem_trywait(semaphore) == 0 {}
    }

    func signal() {
        unsafe sem_post(semaphore)
    }

    /// Waits for a signal, at most as long as given.
    func wait(atMost limit: Duration? = nil) {
        guard let limit else {
            while unsafe sem_wait(semaphore) != 0, errno == EINTR {}
            return
        }
        var end = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &end)
        let nanoseconds = Int(end.tv_nsec) + Int(limit.components.attoseconds / 1_000_000_000)
        end.tv_sec += Int(limit.components.seconds) + nanoseconds / 1_000_000_000
        end.tv_nsec = nanoseconds % 1_000_000_000
        while unsafe sem_timedwait(semaphore, &end) != 0, errno == EINTR {}
    }
}
