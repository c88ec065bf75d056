import Glibc

/// A thread that plays, or that does something to a loop from outside.
final class HelperThread: @unchecked Sendable {
    private let body: @Sendable () -> Void
    private var thread = pthread_t()

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
        let error = pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<HelperThread>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            },
            Unmanaged.passRetained(self).toOpaque()
        )
        precondition(error == 0, "no thread for a scenario")
    }

    /// Waits for the end of the thread and of everything that is bound to it.
    func join() {
        pthread_join(thread, nil)
    }
}
