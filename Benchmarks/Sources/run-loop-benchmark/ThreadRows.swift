import CBenchmark
import RunLoops

/// Two loops that wake each other.
enum ThreadRows {
    /// The loops and the sources of both.
    ///
    /// Protected by: set before the other loop first signals this one.
    private final class Pair: @unchecked Sendable {
        let measurement: Measurement
        var other: HostRunLoop?
        var question: HostRunLoop.Source?
        var answer: HostRunLoop.Source?

        init(_ measurement: Measurement) {
            self.measurement = measurement
        }

        /// Has a loop of the calling thread answer until it is stopped.
        func runOther() {
            let loop = HostRunLoop.current
            other = loop
            let question = addSource(to: loop) { [self] in
                answer?.signal()
                measurement.loop.wakeUp()
            }
            self.question = question
            question.signal()
            check(loop.run(for: .seconds(10_000_000_000)) == .stopped, "the other run was not stopped")
            question.invalidate()
        }
    }

    /// Signals that go to another thread's loop and back.
    static func roundTrip(_ count: Int, _: Int) {
        let pair = Pair(Measurement(count))
        let answer = addSource(to: pair.measurement.loop) {
            guard pair.measurement.goesOn() else {
                pair.other?.stop()
                return
            }
            pair.question?.signal()
            pair.other?.wakeUp()
        }
        pair.answer = answer
        // A thread that posts once: what it posts is a run of the other loop.
        var posters = Posters()
        let argument = unsafe Unmanaged.passUnretained(pair).toOpaque()
        unsafe make_posters(
            &posters,
            1,
            1,
            { argument in
                guard let argument = unsafe argument else { return }
                unsafe Unmanaged<Pair>.fromOpaque(argument).takeUnretainedValue().runOther()
            },
            argument
        )
        open_gate()
        pair.measurement.runAndReport("trip")
        unsafe join_posters(&posters)
        answer.invalidate()
        (pair.answer, pair.question) = (nil, nil)
    }
}
