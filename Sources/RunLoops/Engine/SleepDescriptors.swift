import LinuxSystem
import Synchronization
import SystemPackage

/// The two descriptors that end a loop's sleeps, in whichever mode.
///
/// If the process has no descriptors left for them, the loop sleeps in short slices. Callable from any thread.
final class SleepDescriptors: Sendable {
    /// The descriptors.
    final class Pair: Sendable {
        /// Wakes the loop.
        let wake: EventDescriptor
        /// Ends a sleep at its deadline.
        let timer: TimerDescriptor

        init() throws(Errno) {
            wake = try EventDescriptor()
            timer = try TimerDescriptor()
        }
    }

    private let pair = Late { () throws(Errno) in try Pair() }

    /// The descriptors, if they exist.
    var present: Pair? { pair.value }

    /// Returns the descriptors; makes them now if that was not possible before.
    func required() throws(Errno) -> Pair {
        try pair.required { () throws(Errno) in try Pair() }
    }

    /// Ends a sleep.
    ///
    /// Without descriptors this does nothing: a slice ends by itself.
    func notify() { pair.value?.wake.notify() }
}

/// The epoll instance in which a loop sleeps when it runs in one mode.
final class ModePoller: Sendable {
    let epoll: Epoll

    /// Makes an epoll instance that also watches the loop's own descriptors, which end its waits.
    init(_ descriptors: SleepDescriptors) throws(Errno) {
        let pair = try descriptors.required()
        epoll = try Epoll()
        // Edge-triggered, so that nobody needs to read them: the wake state and the clock have the information.
        try epoll.add(pair.wake.rawValue, events: [.readable, .edgeTriggered], token: PortTable.wakeToken)
        try epoll.add(pair.timer.rawValue, events: [.readable, .edgeTriggered], token: PortTable.timerToken)
    }
}

/// A value that needs descriptors: made at once or, if the process has none left, as soon as it has some.
///
/// It is never taken away again: a caller that has read it may use it as long as its owner lives. Callable from any thread.
struct Late<Value: AnyObject & Sendable>: ~Copyable, Sendable {
    /// The value, if `init` could make it, as it nearly always can; reading it costs one load.
    private let early: Value?
    private let uncounted: Uncounted<Value>?
    private let late = AtomicLazyReference<Value>()

    /// Makes the value now, if possible.
    init(_ make: () throws(Errno) -> Value) {
        do throws(Errno) {
            early = try make()
        } catch {
            early = nil
        }
        uncounted = early.map { Uncounted($0) }
    }

    /// The value, if it exists.
    @inline(__always)
    var value: Value? { early ?? late.load() }

    /// Whether the value exists; counts no references, unlike a look at it.
    @inline(__always)
    var exists: Bool { uncounted != nil || late.load() != nil }

    /// Calls `body` with the value; returns `nil` if it does not exist.
    @inline(__always)
    func with<Result>(_ body: (Value) -> Result) -> Result? {
        if let uncounted { return uncounted.with(body) }
        return late.load().map(body)
    }

    /// Returns the value; makes it now if that was not possible before.
    ///
    /// - Throws: The error of the call that failed: `EMFILE`, `ENFILE` or `ENOMEM`.
    func required(_ make: () throws(Errno) -> Value) throws(Errno) -> Value {
        if let value { return value }
        return late.storeIfNil(try make())
    }
}
