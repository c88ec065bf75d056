import Glibc
import RunLoops
import Synchronization

/// A thread with a run loop of its own.
final class NewThread<Value: Sendable>: @unchecked Sendable {
    private let body: @Sendable (HostRunLoop) throws -> Value
    private let result = Mutex<Result<Value, any Error>?>(nil)
    private let madeLoop = Mutex<HostRunLoop?>(nil)
    private var thread = pthread_t()

    /// Starts a thread that runs `body` with its loop.
    init(_ body: @escaping @Sendable (HostRunLoop) throws -> Value) {
        self.body = body
        let argument = Unmanaged.passRetained(self).toOpaque()
        let error = pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument else { return nil }
                let object = Unmanaged<AnyObject>.fromOpaque(argument).takeRetainedValue()
                (object as? any ThreadBody)?.run()
                return nil
            },
            argument
        )
        precondition(error == 0, "no thread for a test")
    }

    /// The loop of the thread.
    var loop: HostRunLoop {
        while true {
            if let loop = madeLoop.withLock({ $0 }) { return loop }
            sched_yield()
        }
    }

    /// Waits for the end of the thread and returns what the body returned.
    func join() throws -> Value {
        pthread_join(thread, nil)
        guard let result = result.withLock({ $0 }) else {
            preconditionFailure("the thread ended without a result")
        }
        return try result.get()
    }
}

private protocol ThreadBody {
    func run()
}

extension NewThread: ThreadBody {
    fileprivate func run() {
        let loop = HostRunLoop.current
        madeLoop.withLock { $0 = loop }
        let outcome = Result { try body(loop) }
        result.withLock { $0 = outcome }
    }
}

/// Runs `body` with the loop of a thread that has just begun, and returns what it returned when that thread has ended.
func onNewThread<Value: Sendable>(_ body: @escaping @Sendable (HostRunLoop) throws -> Value) throws -> Value {
    try NewThread(body).join()
}

/// Returns as soon as the loop sleeps.
func waitUntilAsleep(_ loop: HostRunLoop) {
    while !loop.isWaiting {
        sched_yield()
    }
}
