internal import CrashCapture
public import StallDetection
internal import Synchronization

/// Ends the calls of a handler: what `onFault`, `onDrain`, `onRestart`, `onSignal` and `onStall` return.
///
/// It need not be kept: the handler is called until `invalidate()`, or until the host is closed.
@MainActor
public final class Observation {
    /// Whether the handler is called.
    package private(set) var isValid = true
    private let whenInvalid: @MainActor (Observation) -> Void
    /// Ends the sequence that it feeds.
    fileprivate var endSequence: (() -> Void)?

    init(whenInvalid: @escaping @MainActor (Observation) -> Void) {
        self.whenInvalid = whenInvalid
    }

    /// Ends the calls of the handler; later calls do nothing.
    ///
    /// When the last handler of a signal ends, the action and the signal mask from before the first come back, unless somebody else took
    /// the signal meanwhile. Signals that were not delivered yet are dropped then.
    public func invalidate() {
        guard isValid else { return }
        isValid = false
        whenInvalid(self)
        endSequence?()
        endSequence = nil
    }
}

/// The handlers of one kind, in the order in which they were added.
@MainActor
final class Handlers<Argument> {
    struct Handler {
        let observation: Observation
        private let body: @MainActor (Argument) -> Void

        init(_ observation: Observation, _ body: @escaping @MainActor (Argument) -> Void) {
            self.observation = observation
            self.body = body
        }

        /// Calls it, unless it was ended meanwhile.
        @MainActor
        func callAsFunction(_ argument: Argument) {
            if observation.isValid { body(argument) }
        }
    }

    private(set) var all: [Handler] = []

    func add(_ body: @escaping @MainActor (Argument) -> Void) -> Observation {
        let observation = Observation { [weak self] observation in
            self?.all.removeAll { $0.observation === observation }
        }
        all.append(Handler(observation, body))
        return observation
    }

    /// Ends all of them.
    func invalidate() {
        for handler in all { handler.observation.invalidate() }
    }
}

extension EventHost {
    /// How many elements of a sequence wait for its task.
    private nonisolated static let sequenceCapacity = 256

    /// The messages of faults from now on, as `onFault(_:)` gives them.
    ///
    /// For one task. Up to 256 wait; beyond that the oldest is dropped, and counted (`Statistics.dropped`). The sequence ends when the host
    /// is closed. The main loop serves a task on the main actor, like the handlers. If a task itself faults, that is not resumed.
    public var faults: AsyncStream<CrashMessage> {
        sequence { yield in onFault { yield($0) } }
    }

    /// The signals of a kind from now on, as `onSignal(_:_:)` gives them: `for await _ in try host.signals(SIGHUP) { reload() }`.
    ///
    /// For one task; see `faults` for what is dropped. The signal is observed until nobody has the sequence any more, or the task that
    /// iterates over it is cancelled.
    ///
    /// - Parameter signal: Any but faults, SIGKILL and SIGSTOP.
    /// - Returns: The sequence.
    /// - Throws: `EventHostError`.
    public func signals(_ signal: CInt) throws(EventHostError) -> AsyncStream<SignalEvent> {
        try sequence { yield throws(EventHostError) in try onSignal(signal) { yield($0) } }
    }

    /// The stalls from now on, when they are found and when they end, as `onStall(_:)` gives them.
    ///
    /// For one task; see `faults` for what is dropped. Iterate off the main actor to hear of a stall of the main loop while it lasts.
    public var stalls: AsyncStream<Stall> {
        sequence { yield in onStall { yield($0) } }
    }

    private func sequence<Element: Sendable, Failure: Error>(
        _ observe: (@escaping @Sendable (Element) -> Void) throws(Failure) -> Observation
    ) throws(Failure) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Element.self,
            bufferingPolicy: .bufferingNewest(Self.sequenceCapacity)
        )
        let observation = try observe { [droppedElements] element in
            if case .dropped = continuation.yield(element) { droppedElements.add() }
        }
        observation.endSequence = {
            continuation.onTermination = nil
            continuation.finish()
        }
        continuation.onTermination = { _ in
            Task { @MainActor in observation.invalidate() }
        }
        return stream
    }
}

/// A sum, from any thread.
final class Tally: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .relaxed) }

    func add(_ amount: Int = 1) { count.add(amount, ordering: .relaxed) }
}
