import CRecoveryPoint
import Synchronization

extension HostRunLoop {
    /// What kind of item a callout belongs to.
    package enum CalloutKind: UInt32, Sendable, Hashable {
        /// A source that was signalled, or its `schedule` or `cancel` closure.
        case source = 1
        /// A port source.
        case port = 2
        /// A timer.
        case timer = 3
        /// An observer.
        case observer = 4
        /// A block.
        case block = 5
        /// The main dispatch queue.
        case mainQueue = 6

        /// The kind as stored at the recovery point.
        var recoveryKind: HFCalloutKind {
            switch self {
            case .source: .source
            case .port: .port
            case .timer: .timer
            case .observer: .observer
            case .block: .block
            case .mainQueue: .mainQueue
            }
        }
    }

    /// A callout that faulted and was abandoned: nothing in it was unwound or released.
    package struct AbandonedCallout: Sendable {
        /// The loop, on whose thread the handler is called.
        package let loop: HostRunLoop
        /// What kind of item it belongs to.
        package let kind: CalloutKind
        /// The item's label.
        package let label: String
        /// The item's identity, unique in the process.
        package let item: UInt64
        /// The mode in which the loop ran.
        package let mode: Mode
        /// How many runs were active.
        package let nesting: Int
        /// The pass, counted from 1 over the life of the loop.
        package let pass: UInt64
        /// The stage of the run.
        package let activity: Activity
        /// The names of the things that it was changing, in `withValue` or after `touch`, the latest first.
        package let touched: [String]
        /// Whether it was a cleanup of an abandoned callout of the item.
        package let isCleanup: Bool
        /// The stack with its frames.
        package let stack: AbandonedStack
    }

    /// A callout stack on which something was abandoned: evidence, and never used again.
    package final class AbandonedStack: Sendable {
        /// The address of the description; 0 once it was buried.
        private let address: Atomic<UInt>
        /// The lowest address of the stack.
        package let low: UInt
        /// One past the highest address of the stack.
        package let high: UInt
        /// A number that the fault handler stored with the stack, of the handler's choice.
        package let faultFacts: UInt32

        init(_ stack: UnsafeMutablePointer<HFCalloutStack>) {
            address = Atomic(UInt(bitPattern: stack))
            unsafe (low, high) = (stack.pointee.low, stack.pointee.high)
            unsafe faultFacts = stack.pointee.fault_facts
        }

        /// Gives the part that no frame uses back to the kernel; the frames stay mapped for ever.
        ///
        /// Callable once, from any thread.
        ///
        /// - Returns: How many bytes stay mapped; 0 if it was buried before.
        @discardableResult
        package func bury() -> Int {
            let address = address.exchange(0, ordering: .acquiringAndReleasing)
            guard let stack = unsafe UnsafeMutablePointer<HFCalloutStack>(bitPattern: address) else { return 0 }
            return unsafe hf_callout_stack_bury(stack)
        }
    }
}

/// The handlers of abandoned callouts.
extension HostRunLoop {
    /// Sets the handler that is called after a callout of this loop was abandoned, on the loop's thread, outside every callout.
    ///
    /// Without one the default handler is called, and without that either the abandoned stack is buried. The handler should return soon. It
    /// may add, remove, withdraw and invalidate, but not run the loop. A fault in it is not resumed. The cleanups of the callout run when
    /// it has returned. It may refer to the loop: it is released when the loop's thread ends, and a later one is not kept. Callable from
    /// any thread.
    ///
    /// - Parameter handler: The handler, or `nil` for the default one.
    package func setAbandonHandler(_ handler: (@Sendable (AbandonedCallout) -> Void)?) {
        abandonHandler.set(handler)
    }

    /// Sets the handler for loops that have none of their own, called on the thread of the loop.
    ///
    /// It serves the loops of all threads, even later ones: `AbandonedCallout.loop` says which one it was. The rules for a loop's own
    /// handler hold for this one. Several threads may call it at a time. Callable from any thread.
    ///
    /// - Parameter handler: The handler, or `nil` to bury the stacks.
    package static func setDefaultAbandonHandler(_ handler: (@Sendable (AbandonedCallout) -> Void)?) {
        AbandonHandler.byDefault.set(handler)
    }

    /// Sets a witness that is called after a callout of any loop was abandoned, before the handler, whichever that is.
    ///
    /// For the host of the process, whose bookkeeping must not depend on whether a loop has a handler of its own. The rules for a handler
    /// hold for it; a stack that it buries is buried. Callable from any thread.
    ///
    /// - Parameter witness: The witness, or `nil` for none.
    package static func setAbandonWitness(_ witness: (@Sendable (AbandonedCallout) -> Void)?) {
        AbandonHandler.witness.set(witness)
    }

    /// Calls the witness and the handler of an abandoned callout of this loop.
    func tell(of callout: AbandonedCallout) {
        AbandonHandler.witness.present?(callout)
        if let handler = abandonHandler.present ?? AbandonHandler.byDefault.present {
            handler(callout)
        } else {
            callout.stack.bury()
        }
    }
}

/// A handler of abandoned callouts: for one loop, for all loops without their own handler, or for all loops.
final class AbandonHandler: @unchecked Sendable {
    /// The handler of all loops that have none of their own.
    static let byDefault = AbandonHandler()
    static let witness = AbandonHandler()

    typealias Handler = @Sendable (HostRunLoop.AbandonedCallout) -> Void

    /// No other lock is taken while it is held.
    private let lock = CriticalLock()
    // Protected by `lock`.
    private var handler: Handler?
    private var isClosed = false

    var present: Handler? { lock.withLock { handler } }

    func set(_ new: Handler?) {
        let old = lock.withLock {
            let old = handler
            handler = isClosed ? nil : new
            return old
        }
        // Released here, after unlocking.
        _ = old
    }

    /// Keeps the present handler and accepts no other; called when the loop's thread ends.
    func close() { lock.withLock { isClosed = true } }
}
