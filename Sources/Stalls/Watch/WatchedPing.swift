internal import LinuxSystem
internal import Synchronization

/// Something that is asked repeatedly whether it still answers.
///
/// The life of a ping: due -> queued for the posting thread -> sent -> answered. The next one is due an interval after it was sent.
final class WatchedPing: WatchedSubject {
    private struct State {
        /// How many pings were sent, and the last one answered.
        var sent: UInt64 = 0
        var answered: UInt64 = 0
        var answeredAt: Int64 = 0
        /// When the next one is due.
        var next: Int64 = 0
        /// The thread that has answered last.
        var thread: CInt?
        var isQueued = false
        var isStopped = false
    }

    let label: String
    private let interval: Int64
    private let answerer: StallMonitor.Answerer
    private let poster: SerialThread
    private let post: @Sendable (@escaping @Sendable () -> Void) -> Void
    /// Protected by its lock.
    private let state = Mutex(State())

    init(
        _ label: String,
        _ interval: Int64,
        _ answerer: StallMonitor.Answerer,
        _ poster: SerialThread,
        _ post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        self.label = label
        self.interval = interval
        self.answerer = answerer
        self.poster = poster
        self.post = post
    }

    /// Stops posting, except for a ping that is being posted.
    func stop() { state.withLock { $0.isStopped = true } }

    var subject: Stall.Subject? { .ping(label) }

    var sight: StallDetector.Sight {
        state.withLock { StallDetector.Sight(number: $0.sent, isBusy: $0.answered != $0.sent) }
    }

    var due: Int64 { state.withLock { $0.isQueued || $0.answered != $0.sent ? .max : $0.next } }

    func act(at now: Int64) -> Bool {
        let (isDue, isUnderWay) = state.withLock { state in
            let isDue = !state.isQueued && state.answered == state.sent && now >= state.next
            if isDue { state.isQueued = true }
            return (isDue, state.isQueued || state.answered != state.sent)
        }
        if isDue { poster.perform { [weak self] in self?.send() } }
        return isUnderWay
    }

    private func send() {
        let now = MonotonicClock.nanoseconds
        let number: UInt64? = state.withLock { state in
            state.isQueued = false
            guard !state.isStopped else { return nil }
            state.sent += 1
            state.next = now + interval
            return state.sent
        }
        guard let number else { return }
        post { [weak self] in self?.answer(number) }
    }

    private func answer(_ number: UInt64) {
        let now = MonotonicClock.nanoseconds
        state.withLock { state in
            guard state.sent == number, state.answered != number else { return }
            state.answered = number
            state.answeredAt = now
            if case .oneThread = answerer { state.thread = ThreadIdentity.id }
        }
    }

    var callout: (number: UInt64, item: UInt64)? { nil }

    func thread(in number: UInt64) -> CInt? {
        let (isUnderWay, thread) = state.withLock { ($0.sent == number && $0.answered != number, $0.thread) }
        guard isUnderWay else { return nil }
        guard case .found(let find) = answerer else { return thread }
        return find()
    }

    func noteStall(of number: UInt64) {}

    func end(of number: UInt64) -> Int64? {
        state.withLock { $0.answered == number ? $0.answeredAt : nil }
    }
}
