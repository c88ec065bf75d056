internal import RunLoops

/// A call that is made later, unless another one takes its place.
@MainActor
final class DelayedCall {
    private var timer: HostRunLoop.Timer?

    /// Has a call made, and not the one before.
    ///
    /// - Parameters:
    ///   - purpose: What reports call its timer.
    ///   - wait: How much later.
    ///   - perform: The call.
    func make(_ purpose: String, after wait: Duration, _ perform: @escaping @MainActor () -> Void) {
        cancel()
        let timer = HostRunLoop.Timer(label: purpose, after: wait) { _ in perform() }
        self.timer = timer
        HostRunLoop.main.add(timer, to: .common)
    }

    /// Has it not made.
    func cancel() {
        timer?.invalidate()
        timer = nil
    }
}
