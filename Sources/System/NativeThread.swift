import CLinuxShims
import Glibc
package import SystemPackage

/// A thread of the system: pthreads(7).
///
/// Dropping the last reference detaches it.
@safe
package final class NativeThread: @unchecked Sendable {
    private final class Body: Sendable {
        let name: String
        let run: @Sendable () -> Void

        init(name: String, run: @escaping @Sendable () -> Void) {
            self.name = name
            self.run = run
        }
    }

    private let handle: pthread_t
    /// A thread must be joined only once (pthread_join(3)).
    ///
    /// Protected by `lock`, which the thread sanitizer sees.
    private var isJoined = false
    private let lock = FutexLock()

    /// Starts a thread.
    ///
    /// - Parameters:
    ///   - name: Its name, of which 15 bytes count.
    ///   - stackSize: The size of its stack in bytes, rounded up to whole pages; `nil` for the system's usual one.
    ///   - body: What it runs; released on the thread.
    /// - Throws: The error of pthread_create(3).
    package init(name: String, stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) throws(Errno) {
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        if let stackSize {
            let error = unsafe pthread_attr_setstacksize(&attributes, Self.wholePages(stackSize))
            guard error == 0 else { throw Errno(rawValue: error) }
        }
        var thread = pthread_t()
        let argument = unsafe Unmanaged.passRetained(Body(name: name, run: body)).toOpaque()
        let error = unsafe pthread_create(
            &thread,
            &attributes,
            { argument in
                guard let argument = unsafe argument else { return nil }
                let body = unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
                ThreadIdentity.setName(body.name)
                body.run()
                return nil
            },
            argument
        )
        guard error == 0 else {
            unsafe Unmanaged<Body>.fromOpaque(argument).release()
            throw Errno(rawValue: error)
        }
        handle = thread
    }

    deinit {
        if !isJoined { pthread_detach(handle) }
    }

    /// Waits until the thread has gone; a second call returns at once.
    ///
    /// Call it when none of the thread's own code is left to run.
    package func join() {
        lock.lock()
        defer { lock.unlock() }
        guard !isJoined else { return }
        pthread_join(handle, nil)
        isJoined = true
    }

    /// 64 KiB is the smallest size that pthread_attr_setstacksize(3) accepts and that has room for our calls.
    private static func wholePages(_ size: Int) -> Int {
        let page = 4096
        let wanted = max(size, 64 << 10)
        let (padded, overflow) = wanted.addingReportingOverflow(page - 1)
        return (overflow ? wanted : padded) / page * page
    }
}
