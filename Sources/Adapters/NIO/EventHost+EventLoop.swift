#if NIO
public import Holdfast
public import NIOCore

extension EventHost {
    /// Watches an event loop: asks it again and again to answer, and reports what keeps it if it does not.
    ///
    /// Whoever waits for a future on a loop's own thread, reads a file there or calculates, stalls all of its connections.
    /// `stopWatching(pinging:)` ends it. Callable from any thread. Without `Configuration.stallPolicy` nothing is watched.
    ///
    /// - Parameters:
    ///   - loop: The loop, which is kept alive.
    ///   - label: Its name; a second one of the same name replaces the first.
    ///   - interval: The time between two questions, from 10 ms to a day.
    ///   - rule: When no answer is a stall; nil for the rule of the host.
    /// - Throws: `EventHostError`, if the thread that watches cannot be made.
    public nonisolated func watch(
        _ loop: any EventLoop,
        label: String,
        every interval: Duration = .seconds(1),
        rule: StallRule? = nil
    ) throws(EventHostError) {
        try watch(pinging: label, every: interval, rule: rule, answerer: .oneThread) { answer in loop.execute(answer) }
    }

    /// Watches every event loop of a group, as `label 1`, `label 2` and so on.
    ///
    /// - Parameters:
    ///   - group: The group, which is kept alive.
    ///   - label: Its name.
    ///   - rule: When no answer is a stall; nil for the rule of the host.
    /// - Throws: `EventHostError`, if the thread that watches cannot be made.
    public nonisolated func watch(
        _ group: any EventLoopGroup,
        label: String = "event loop",
        rule: StallRule? = nil
    ) throws(EventHostError) {
        for (number, loop) in group.makeIterator().enumerated() {
            try watch(loop, label: "\(label) \(number + 1)", rule: rule)
        }
    }
}
#endif
