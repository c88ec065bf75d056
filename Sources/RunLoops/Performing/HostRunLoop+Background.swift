public import SystemPackage

extension HostRunLoop {
    /// Runs a closure on a new thread, which ends with it.
    ///
    /// As with `performSelectorInBackground`, the thread belongs to nobody and has a loop of its own: the closure may add
    /// items to `HostRunLoop.current` and run it. A pool's threads could not be blocked in a run, and would be left with
    /// somebody else's loop. The closure is a callout of that loop: a fault in it can be abandoned and ends only this
    /// thread. Callable from any thread.
    ///
    /// - Parameters:
    ///   - label: What a crash report calls it, and the thread's name, of which 15 bytes count.
    ///   - body: The closure.
    /// - Throws: The error of pthread_create(3): `EAGAIN` when there is no room for another thread.
    public static func performInBackground(
        label: String = "background",
        _ body: @escaping @Sendable () -> Void
    ) throws(Errno) {
        // Nobody joins it: it is detached when the handle goes.
        _ = try NativeThread(name: label) {
            HostRunLoop.current.performNow(label: label, body)
        }
    }
}
