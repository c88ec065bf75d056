import Synchronization

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
