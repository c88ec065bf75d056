import LinuxSystem
import Synchronization

extension HostRunLoop {
    /// How far a loop has come, for whoever watches it from another thread.
    ///
    /// Between two looks for events a loop serves nothing but what it found at the first of them: that is a *busy period*, and one
    /// that lasts is a stall. A loop looks in phase 10 of every pass, one that only polls and one of a nested run among them, and in
    /// phase 8 where the main dispatch queue is asked. The loop's thread writes one word for it, without a lock, a reading of the
    /// clock or a system call; but a watched loop that wakes while the watcher sleeps wakes the watcher (futex(2)). The object
    /// may outlive the loop. Callable from any thread.
    package final class Progress: Sendable {
        /// What a loop does.
        package enum State: UInt64, Sendable, Hashable {
            /// It does not run.
            case idle = 0
            /// It runs its own code or a callout's.
            case busy = 1
            /// It waits for events.
            case waiting = 2
        }

        /// The state of a loop at a time.
        package struct Reading: Sendable, Hashable {
            fileprivate static var stateBits: UInt64 { 2 }

            let word: UInt64

            /// What the loop did.
            package var state: State { State(rawValue: word & (1 << Self.stateBits - 1)) ?? .idle }

            /// Which busy period, wait or rest of the loop it was, counted from 0: another number is another one.
            package var number: UInt64 { word >> Self.stateBits }

            fileprivate func next(_ state: State) -> Reading {
                Reading(word: (number &+ 1) << Self.stateBits | state.rawValue)
            }
        }

        /// Written by the loop's thread.
        let word = Atomic<UInt64>(0)
        /// How often a callout began or ended, and whose runs: written by the loop's thread (see `CalloutReading`).
        let callouts = Atomic<UInt64>(0)
        let calledItem = Atomic<UInt64>(0)
        private let threadID = Atomic<Int32>(0)
        /// How many watch it.
        private let watchers = Atomic<Int>(0)
        /// The reading whose end is to be timed, 0 for none: written by the watcher, cleared by the loop.
        private let timed = Atomic<UInt64>(0)
        /// The reading whose end was timed last, and that time.
        private let ended = Atomic<UInt64>(0)
        private let endTime = Atomic<Int64>(0)

        init() {}

        /// The present state.
        package var reading: Reading { Reading(word: word.load(ordering: .sequentiallyConsistent)) }

        /// The thread that runs the loop, as gettid(2) has it; 0 if it never ran, or has ended.
        package var thread: Int32 { threadID.load(ordering: .acquiring) }

        // MARK: The loop's thread

        /// A run begins, or a callout outside of runs; says whether the loop did nothing before, and `end()` must follow.
        func begin() -> Bool {
            guard reading.state == .idle else { return false }
            if threadID.load(ordering: .relaxed) == 0 { threadID.store(ThreadIdentity.id, ordering: .releasing) }
            becomeBusy()
            return true
        }

        /// What `begin()` said yes to has ended.
        func end() { move(to: .idle) }

        /// The loop looks for events, and is busy with what it finds.
        @inline(__always)
        func look() { move(to: .busy) }

        /// The loop is about to wait; returns what it did before.
        @inline(__always)
        func beginWait() -> State {
            let before = Reading(word: word.load(ordering: .relaxed)).state
            move(to: .waiting)
            return before
        }

        /// The wait is over, and the loop goes on with what it did before.
        @inline(__always)
        func endWait(backTo state: State) {
            if state == .busy { becomeBusy() } else { end() }
        }

        /// The thread ends: it will never run the loop again, and another one may get its number.
        func endForEver() {
            threadID.store(0, ordering: .releasing)
            end()
        }

        @inline(__always)
        private func move(to state: State) {
            let old = Reading(word: word.load(ordering: .relaxed))
            word.store(old.next(state).word, ordering: .releasing)
            if timed.load(ordering: .relaxed) != 0 { noteEnd(of: old) }
        }

        private func becomeBusy() {
            let old = Reading(word: word.load(ordering: .relaxed))
            // Sequentially consistent, here and in `WatcherBell`: either the watcher sees this, or this sees that it sleeps.
            word.store(old.next(.busy).word, ordering: .sequentiallyConsistent)
            if watchers.load(ordering: .relaxed) > 0 { WatcherBell.ring() }
        }

        @inline(never)
        private func noteEnd(of reading: Reading) {
            guard timed.exchange(0, ordering: .acquiringAndReleasing) == reading.word else { return }
            endTime.store(MonotonicClock.nanoseconds, ordering: .relaxed)
            ended.store(reading.word, ordering: .releasing)
        }

        // MARK: The watcher

        /// Has the loop ring for its watcher from now on; to be followed by a first look, and by `stopRinging()`.
        package func startRinging() { watchers.add(1, ordering: .sequentiallyConsistent) }

        /// Undoes `startRinging()`.
        package func stopRinging() { watchers.subtract(1, ordering: .relaxed) }

        /// Has the loop note when a busy period ends.
        ///
        /// For one watcher, and one busy period at a time.
        package func timeEnd(of reading: Reading) {
            timed.store(reading.word, ordering: .sequentiallyConsistent)
        }

        /// When a busy period ended whose end was asked for; nil if the loop had no occasion to note it.
        package func end(of reading: Reading) -> Instant? {
            guard ended.load(ordering: .acquiring) == reading.word else { return nil }
            return Instant(nanoseconds: endTime.load(ordering: .relaxed))
        }
    }
}

/// Which callout runs, for who watches how long one takes.
///
/// The loop's thread writes it before and after each, without a lock, a reading of the clock or a system call. Between two callouts,
/// and while a callout runs the loop's own code, there is none: whoever finds the same words twice knows that the callout has neither
/// ended nor begun another one meanwhile, and that no run inside it has looked for events.
extension HostRunLoop.Progress {
    /// Stands for the main dispatch queue, which is no item.
    package static var mainQueueItem: UInt64 { .max }

    /// What a loop was calling at a time.
    package struct CalloutReading: Sendable, Hashable {
        /// The state of the loop.
        package var loop: HostRunLoop.Progress.Reading
        /// How often a callout had begun or ended.
        package var callouts: UInt64
        /// The identity of the item; 0 outside of callouts.
        package var item: UInt64
        /// The three as the loop writes them.
        package var words: (UInt64, UInt64, UInt64) { (loop.word, callouts, item) }

        /// Whether a callout runs that does not wait in a run of its own.
        package var isInCallout: Bool { item != 0 && loop.state == .busy }
    }

    /// What the loop is calling; nil if that changed while it was read.
    package var callout: CalloutReading? {
        let before = callouts.load(ordering: .acquiring)
        let item = calledItem.load(ordering: .acquiring)
        let loop = reading
        guard callouts.load(ordering: .relaxed) == before else { return nil }
        return CalloutReading(loop: loop, callouts: before, item: item)
    }

    /// Calls `body` with the addresses of the words, which are those of `CalloutReading.words`.
    package func withCalloutWords<Result>(
        _ body: ((UnsafeRawPointer, UnsafeRawPointer, UnsafeRawPointer)) -> Result
    ) -> Result? {
        unsafe withUnsafeBytes(of: word) { word in
            unsafe withUnsafeBytes(of: callouts) { callouts in
                unsafe withUnsafeBytes(of: calledItem) { item in
                    guard let word = word.baseAddress, let callouts = callouts.baseAddress, let item = item.baseAddress
                    else { return nil }
                    return unsafe body((word, callouts, item))
                }
            }
        }
    }

    // MARK: The loop's thread

    /// The loop is about to call out; returns what it was calling before, for `endCallout`.
    @inline(__always)
    func prepareCallout() -> UInt64 {
        let outer = calledItem.load(ordering: .relaxed)
        // In this order for a handler on this thread: while the count is new, nobody is called.
        calledItem.store(0, ordering: .relaxed)
        callouts.store(callouts.load(ordering: .relaxed) &+ 1, ordering: .releasing)
        return outer
    }

    /// The callout begins.
    @inline(__always)
    func beginCallout(_ item: UInt64) {
        calledItem.store(item, ordering: .releasing)
    }

    /// The callout has returned or was abandoned; what comes is the loop's own code.
    @inline(__always)
    func leaveCallout() {
        calledItem.store(0, ordering: .relaxed)
    }

    /// The loop is done with it, and goes on with what it was calling before.
    @inline(__always)
    func endCallout(backTo outer: UInt64) {
        callouts.store(callouts.load(ordering: .relaxed) &+ 1, ordering: .releasing)
        calledItem.store(outer, ordering: .releasing)
    }
}

extension HostRunLoop.Progress {
    /// Where the one who watches loops sleeps while there is nothing to see.
    ///
    /// A process has one watcher. A watched loop pays for it each time it wakes: one load from memory, and a system call if the
    /// watcher sleeps.
    package enum WatcherBell {
        /// 1 while the watcher is about to sleep, or sleeps, until a loop becomes busy.
        private static let word = Atomic<UInt32>(0)

        /// Sleeps until a loop becomes busy, `ring()` is called, or the time has come; may return for no reason.
        ///
        /// For the watcher's thread.
        ///
        /// - Parameters:
        ///   - deadline: Nanoseconds on the monotonic clock; `Int64.max` for never.
        ///   - isNeeded: Whether there is something to see all the same, asked when loops ring already.
        package static func sleep(before deadline: Int64 = .max, unless isNeeded: () -> Bool) {
            word.store(1, ordering: .sequentiallyConsistent)
            if !isNeeded() { Futex.wait(on: word, while: 1, before: deadline) }
            word.store(0, ordering: .relaxed)
        }

        /// Ends the watcher's sleep, if it sleeps until a loop becomes busy.
        package static func ring() {
            guard word.load(ordering: .sequentiallyConsistent) != 0,
                word.exchange(0, ordering: .acquiringAndReleasing) != 0
            else { return }
            Futex.wakeOne(waitingOn: word)
        }
    }
}
