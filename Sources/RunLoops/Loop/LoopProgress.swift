import LinuxSystem
import Synchronization

extension HostRunLoop {
    /// How far a loop has come, for watchers on another thread.
    ///
    /// When a loop looks for events, it serves what it found before it looks again. The time between two looks is a *busy period*;
    /// a long one is a stall. A loop looks in phase 10 of every pass, even of one that only polls or of a nested run, and in phase
    /// 8 if it asks the main dispatch queue. The loop's thread writes one word for each look, without a lock, a reading of the
    /// clock or a system call. The exception is a watched loop that wakes while the watcher sleeps: it wakes the watcher
    /// (futex(2)). The object may outlive the loop. Callable from any thread.
    package final class Progress: Sendable {
        /// What a loop is doing.
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

            /// The number of the busy period, wait or rest of the loop, counted from 0.
            package var number: UInt64 { word >> Self.stateBits }

            fileprivate func next(_ state: State) -> Reading {
                Reading(word: (number &+ 1) << Self.stateBits | state.rawValue)
            }
        }

        /// Written by the loop's thread.
        let word = Atomic<UInt64>(0)
        /// How often callouts began or ended, in all runs: written by the loop's thread (see `CalloutReading`).
        let callouts = Atomic<UInt64>(0)
        let calledItem = Atomic<UInt64>(0)
        private let threadID = Atomic<Int32>(0)
        /// The number of watchers.
        private let watchers = Atomic<Int>(0)
        /// The reading whose end is to be timed; 0 if there is none.
        ///
        /// Written by the watcher, cleared by the loop.
        private let timed = Atomic<UInt64>(0)
        /// The reading whose end was timed last, and that time.
        private let ended = Atomic<UInt64>(0)
        private let endTime = Atomic<Int64>(0)

        init() {}

        /// The present state.
        package var reading: Reading { Reading(word: word.load(ordering: .sequentiallyConsistent)) }

        /// The id of the thread that runs the loop (gettid(2)); 0 if it never ran, or has ended.
        package var thread: Int32 { threadID.load(ordering: .acquiring) }

        // MARK: The loop's thread

        /// Notes that a run begins, or a callout outside of runs; returns whether the loop did nothing before, so that `end()` must follow.
        func begin() -> Bool {
            guard reading.state == .idle else { return false }
            if threadID.load(ordering: .relaxed) == 0 { threadID.store(ThreadIdentity.id, ordering: .releasing) }
            becomeBusy()
            return true
        }

        /// Notes the end of what `begin()` has begun.
        func end() { move(to: .idle) }

        /// Notes that the loop looks for events, and is busy with what it finds.
        @inline(__always)
        func look() { move(to: .busy) }

        /// Notes that the loop is about to wait; returns the former reading.
        @inline(__always)
        func beginWait() -> State {
            let before = Reading(word: word.load(ordering: .relaxed)).state
            move(to: .waiting)
            return before
        }

        /// Notes that the wait is over, and that the loop goes on with what it did before.
        @inline(__always)
        func endWait(backTo state: State) {
            if state == .busy { becomeBusy() } else { end() }
        }

        /// Notes that the thread ends: it will never run the loop again, and another thread may get its id.
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
            // Sequentially consistent, here and in `WatcherBell`: either the watcher sees this change, or this thread sees that the watcher
            // sleeps.
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

        /// Makes the loop wake its watcher from now on.
        ///
        /// Look at the loop once afterwards, and call `stopRinging()` at the end.
        package func startRinging() { watchers.add(1, ordering: .sequentiallyConsistent) }

        /// Undoes `startRinging()`.
        package func stopRinging() { watchers.subtract(1, ordering: .relaxed) }

        /// Makes the loop record when a busy period ends.
        ///
        /// Only for one watcher, and for one busy period at a time.
        package func timeEnd(of reading: Reading) {
            timed.store(reading.word, ordering: .sequentiallyConsistent)
        }

        /// When a busy period that was to be timed ended; nil if the loop did not record it.
        package func end(of reading: Reading) -> Instant? {
            guard ended.load(ordering: .acquiring) == reading.word else { return nil }
            return Instant(nanoseconds: endTime.load(ordering: .relaxed))
        }
    }
}

/// Which callout runs, for watchers that time callouts.
///
/// The loop's thread writes it before and after each callout, without a lock, a reading of the clock or a system call. Between two
/// callouts, and while a callout runs the loop's own code, it says that none runs. If a watcher finds the same words twice, the callout has
/// neither ended nor begun another one meanwhile, and no run inside it has looked for events.
extension HostRunLoop.Progress {
    /// Stands for the main dispatch queue, which is not an item.
    package static var mainQueueItem: UInt64 { .max }

    /// The callout of a loop at a time.
    package struct CalloutReading: Sendable, Hashable {
        /// The state of the loop.
        package var loop: HostRunLoop.Progress.Reading
        /// How often a callout had begun or ended.
        package var callouts: UInt64
        /// The identity of the item; 0 outside of callouts.
        package var item: UInt64
        /// The three words in the form that the loop writes.
        package var words: (UInt64, UInt64, UInt64) { (loop.word, callouts, item) }

        /// Whether a callout runs, and does not wait in a run of its own.
        package var isInCallout: Bool { item != 0 && loop.state == .busy }
    }

    /// The running callout; nil if it changed while it was read.
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

    /// Notes that the loop is about to call out; returns the former item, for `endCallout`.
    @inline(__always)
    func prepareCallout() -> UInt64 {
        let outer = calledItem.load(ordering: .relaxed)
        // In this order for a handler on this thread: while the count is new, no item is called.
        calledItem.store(0, ordering: .relaxed)
        callouts.store(callouts.load(ordering: .relaxed) &+ 1, ordering: .releasing)
        return outer
    }

    /// Notes that the callout begins.
    @inline(__always)
    func beginCallout(_ item: UInt64) {
        calledItem.store(item, ordering: .releasing)
    }

    /// Notes that the callout has returned or was abandoned; the loop's own code follows.
    @inline(__always)
    func leaveCallout() {
        calledItem.store(0, ordering: .relaxed)
    }

    /// Notes that the loop has finished the callout, and goes on with the former one.
    @inline(__always)
    func endCallout(backTo outer: UInt64) {
        callouts.store(callouts.load(ordering: .relaxed) &+ 1, ordering: .releasing)
        calledItem.store(outer, ordering: .releasing)
    }
}

extension HostRunLoop.Progress {
    /// Where the watcher of loops sleeps while there is nothing to see.
    ///
    /// A process has one watcher. A watched loop pays one load from memory each time it wakes, and a system call if the watcher sleeps.
    package enum WatcherBell {
        /// 1 while the watcher is about to sleep, or sleeps, until a loop becomes busy.
        private static let word = Atomic<UInt32>(0)

        /// Sleeps until a loop becomes busy, `ring()` is called, or the time has come; may return without a reason.
        ///
        /// For the watcher's thread.
        ///
        /// - Parameters:
        ///   - deadline: Nanoseconds on the monotonic clock; `Int64.max` for never.
        ///   - isNeeded: Whether there is something to see already. Called when loops ring.
        package static func sleep(before deadline: Int64 = .max, unless isNeeded: () -> Bool) {
            word.store(1, ordering: .sequentiallyConsistent)
            if !isNeeded() { Futex.wait(on: word, while: 1, before: deadline) }
            word.store(0, ordering: .relaxed)
        }

        /// Ends the watcher's sleep, if it sleeps.
        package static func ring() {
            guard word.load(ordering: .sequentiallyConsistent) != 0,
                word.exchange(0, ordering: .acquiringAndReleasing) != 0
            else { return }
            Futex.wakeOne(waitingOn: word)
        }
    }
}
