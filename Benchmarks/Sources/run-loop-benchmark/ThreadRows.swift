import CBenchmark
import Glibc
import RunLoops

/// Two loops that wake each other.
enum ThreadRows {
    /// The other thread's loop and the sources of both.
    ///
    /// Protected by: set before the other loop first signals this one.
    private final class Pair: @unchecked Sendable {
        var other: HostRunLoop?
        var question: HostRunLoop.Source?
        var answer: HostRunLoop.Source?
    }

    /// Signals that go to another thread's loop and back.
    static func roundTrip(_ count: Int, _: Int) {
        let measurement = Measurement(count)
        let pair = Pair()
        pin(0)
        let loop = measurement.loop
        let answer = addSource(to: loop) {
            guard measurement.goesOn() else {
                pair.other?.stop()
                return
            }
            pair.question?.signal()
            pair.other?.wakeUp()
        }
        pair.answer = answer
        let thread = startThread {
            pin(1)
            let other = HostRunLoop.current
            pair.other = other
            let question = addSource(to: other) {
                answer.signal()
                loop.wakeUp()
            }
            pair.question = question
            question.signal()
            check(other.run(for: .seconds(10_000_000_000)) == .stopped, "the other run was not stopped")
            question.invalidate()
        }
        measurement.runAndReport("trip")
        pthread_join(thread, nil)
        answer.invalidate()
        pair.answer = nil
    }

    private static func startThread(_ body: @escaping @Sendable () -> Void) -> pthread_t {
        var thread = pthread_t()
        let argument = unsafe Unmanaged.passRetained(ThreadBody(body)).toOpaque()
        let error = unsafe pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                unsafe Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            },
            argument
        )
        check(error == 0, "no thread")
        return thread
    }
}

/// What a thread does.
private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}
