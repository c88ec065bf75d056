import CRecoveryPoint
import Synchronization

extension HostRunLoop {
    /// What kind of item a callout belongs to.
    public enum CalloutKind: UInt32, Sendable, Hashable {
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

        /// The same, for the recovery point.
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
    public struct AbandonedCallout: Sendable {
        /// The loop, on whose thread the handler is called.
        public let loop: HostRunLoop
        /// What kind of item it belongs to.
        public let kind: CalloutKind
        /// The item's label.
        public let label: String
        /// The item's identity, unique in the process.
        public let item: UInt64
        /// The mode in which the loop ran.
        public let mode: Mode
        /// How many runs were active.
        public let nesting: Int
        /// The pass, counted from 1 over the life of the loop.
        public let pass: UInt64
        /// The stage of the run.
        public let activity: Activity
        /// The names of what it was changing, by `withValue` or `touch`; what was touched last comes first.
        public let touched: [String]
        /// Whether it was a cleanup of an abandoned callout of the item.
        public let isCleanup: Bool
        /// The stack with its frames.
        public let stack: AbandonedStack
    }

    /// A callout stack on which something was abandoned: evidence, and never run on again.
    public final class AbandonedStack: Sendable {
        /// The address of the description; 0 once it was buried.
        private let address: Atomic<UInt>
        /// The lowest address of the stack.
        public let low: UInt
        /// One past the highest address of the stack.
        public let high: UInt
        /// What the fault handler left with it: a number of that handler's making.
        public let faultFacts: UInt32

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
        public func bury() -> Int {
            let address = address.exchange(0, ordering: .acquiringAndReleasing)
            guard let stack = unsafe UnsafeMutablePointer<HFCalloutStack>(bitPattern: address) else { return 0 }
            return unsafe hf_callout_stack_bury(stack)
        }
    }
}
