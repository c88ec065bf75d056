extension HostRunLoop.Timer {
    /// Makes a timer that does something with an object and does not keep it alive; it is in no loop yet.
    ///
    /// When the object is gone, the timer invalidates itself at its next fire date instead of firing. The object is alive
    /// during the call. Callable from any thread.
    ///
    /// - Parameters:
    ///   - label: What a crash report calls it.
    ///   - fireAt: When it fires first; the past means now.
    ///   - interval: The time between two fires; zero or less for a timer that fires once.
    ///   - target: The object, which is held weakly.
    ///   - perform: Called on the loop's thread, with the object and the timer; must not hold the object by itself.
    public convenience init<Target: AnyObject & Sendable>(
        label: String,
        fireAt: HostRunLoop.Instant,
        interval: Duration = .zero,
        target: Target,
        perform: @escaping @Sendable (Target, HostRunLoop.Timer) -> Void
    ) {
        self.init(label: label, fireAt: fireAt, interval: interval) { [weak target] timer in
            guard let target else {
                timer.invalidate()
                return
            }
            perform(target, timer)
        }
    }

    /// Makes a timer that does something with an object, some time from now, and does not keep it alive.
    ///
    /// When the object is gone, the timer invalidates itself at its next fire date instead of firing. The object is alive
    /// during the call. Callable from any thread.
    ///
    /// - Parameters:
    ///   - label: What a crash report calls it.
    ///   - delay: How long after the present it fires first.
    ///   - interval: The time between two fires; zero or less for a timer that fires once.
    ///   - target: The object, which is held weakly.
    ///   - perform: Called on the loop's thread, with the object and the timer; must not hold the object by itself.
    public convenience init<Target: AnyObject & Sendable>(
        label: String,
        after delay: Duration,
        repeating interval: Duration = .zero,
        target: Target,
        perform: @escaping @Sendable (Target, HostRunLoop.Timer) -> Void
    ) {
        self.init(
            label: label,
            fireAt: .now.advanced(by: delay),
            interval: interval,
            target: target,
            perform: perform
        )
    }
}
