import Glibc

/// A thread of the system's library, without a loop.
enum PlainThread {
    struct Failure: Error {
        let code: CInt
    }

    private final class Body {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    /// Starts a thread that nobody waits for.
    static func start(_ body: @escaping @Sendable () -> Void) throws {
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(Body(body)).toOpaque()
        let code = pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            },
            argument
        )
        guard code == 0 else { throw Failure(code: code) }
        pthread_detach(thread)
    }
}
