import LinuxSystem
import Synchronization
import SystemPackage

/// The two descriptors that end a loop's sleeps, in whichever mode.
///
/// Without them, when the process has none left, the loop sleeps in slices. Callable from any thread.
final class SleepDescriptors: Sendable {
    /// The descriptors.
    final class Pair: Sendable {
        /// Wakes the loop.
        let wake: EventDescriptor
        /// Ends a sleep in time.
        let timer: TimerDescriptor

        init() throws(Errno) {
            wake = try EventDescriptor()
            timer = try TimerDescriptor()
        }
    }

    private let pair = Late { () throws(Errno) in try Pair() }

    /// The descriptors, if there are any.
    var present: Pair? { pair.value }

    /// Returns the descriptors, made now if there were none left before.
    func required() throws(Errno) -> Pair {
        try pair.required { () throws(Errno) in try Pair() }
    }

    /// Ends a sleep; one that is in slices ends by itself.
    func notify() { pair.value?.wake.notify() }
}

/// The epoll instance in which a loop sleeps when it runs in one mode.
final class ModePoller: Sendable {
    let epoll: Epoll

    /// Makes an instance that the loop's own descriptors end a wait of.
    init(_ descriptors: SleepDescriptors) throws(Errno) {
        let pair = try descriptors.required()
        epoll = try Epoll()
        // Edge-triggered: what they have to say is in the wake state and in the clock, so nobody needs to read them.
        try epoll.add(pair.wake.rawValue, events: [.readable, .edgeTriggered], token: PortTable.wakeToken)
        try epoll.add(pair.timer.rawValue, events: [.readable, .edgeTriggered], token: PortTable.timerToken)
    }
}

/// Something that takes descriptors: made at once or, when the process has none left, as soon as it has some.
///
/// Never taken back: who has read it once may use it as long as its owner lives. Callable from any thread.
struct Late<Value: AnyObject & Sendable>: ~Copyable, Sendable {
    /// What nearly always is there, for one load and no more.
    private let early: Value?
    private let late = AtomicLazyReference<Value>()

    /// Makes the value now, if that is possible.
    init(_ make: () throws(Errno) -> Value) {
        do throws(Errno) {
            early = try make()
        } catch {
            early = nil
        }
    }

    /// The value, if it is there.
    @inline(__always)
    var value: Value? { early ?? late.load() }

    /// Returns the value, made now if it was not possible before.
    ///
    /// - Throws: The error of the call that failed: `EMFILE`, `ENFILE` or `ENOMEM`.
    func required(_ make: () throws(Errno) -> Value) throws(Errno) -> Value {
        if let value { return value }
        return late.storeIfNil(try make())
    }
}
