internal import Glibc
public import RunLoops

/// A thread with a run loop of its own.
public enum TestLoopThread {
    private final class Body: Sendable {
        let run: @Sendable (HostRunLoop) -> Void

        init(_ run: @escaping @Sendable (HostRunLoop) -> Void) {
            self.run = run
        }
    }

    /// Runs a body on a new thread; the thread ends with it.
    public static func run(_ body: @escaping @Sendable (HostRunLoop) -> Void) {
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(Body(body)).toOpaque()
        let error = pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run(.current)
                return nil
            },
            argument
        )
        precondition(error == 0, "no thread for a test")
        pthread_detach(thread)
    }
}
