import Synchronization

/// A closure that runs once: in the next run of a matching mode, or after a delay.
///
/// Whoever moves its state away from pending owns the closure and runs or releases it. So the closure never runs twice, and a token
/// that is kept afterwards keeps nothing alive.
final class QueuedBlock: @unchecked Sendable {
    typealias State = HostRunLoop.Perform.State

    /// The modes in which it may run.
    enum Modes: Sendable {
        // The two usual modes are cases of their own, to avoid comparing strings.
        case usual
        case common
        case one(HostRunLoop.Mode)
        case any(Set<HostRunLoop.Mode>)

        init(_ mode: HostRunLoop.Mode) {
            switch mode {
            case .default: self = .usual
            case .common: self = .common
            default: self = .one(mode)
            }
        }

        /// Whether it matters which modes are common.
        var dependOnCommon: Bool {
            switch self {
            case .usual, .one: false
            case .common, .any: true
            }
        }

        /// The names of the modes; may include `.common`.
        var names: [HostRunLoop.Mode] {
            switch self {
            case .usual: [.default]
            case .common: [.common]
            case .one(let mode): [mode]
            case .any(let modes): modes.sorted { $0.rawValue < $1.rawValue }
            }
        }
    }

    let identifier = ItemIdentifier.next()
    let name: ItemName
    let modes: Modes
    let order: Int
    /// The identity of the target by which it can be cancelled.
    let targetIdentity: ObjectIdentifier?
    /// Whether it waits for a timer instead of in the queue.
    let isDelayed: Bool
    /// Opened when it has ended in any way.
    private let end: Latch?
    private let rawState = Atomic<UInt8>(State.pending.rawValue)

    // Owned by whoever moved the state away from pending; nobody touches them before that.
    @safe @exclusivity(unchecked) private var closure: (@Sendable () -> Void)?
    @safe @exclusivity(unchecked) private var target: (any AnyObject & Sendable)?
    /// The loop to tell when it is cancelled; `nil` for a block that cannot be cancelled.
    @safe @exclusivity(unchecked) private var loop: HostRunLoop?

    /// Makes a block that is not queued yet.
    init(
        label: String,
        modes: Modes,
        order: Int = 0,
        target: (any AnyObject & Sendable)? = nil,
        on loop: HostRunLoop? = nil,
        isDelayed: Bool = false,
        end: Latch? = nil,
        _ closure: @escaping @Sendable () -> Void
    ) {
        name = ItemName(label)
        self.modes = modes
        self.order = order
        targetIdentity = target.map { ObjectIdentifier($0) }
        self.isDelayed = isDelayed
        self.end = end
        self.closure = closure
        self.target = target
        self.loop = loop
    }

    /// Whether it is in the loop's list of performs.
    var isListed: Bool { isDelayed || targetIdentity != nil }

    /// Returns whether it may run in a mode. (The default mode is always common.)
    @inline(__always)
    func matches(_ mode: LoopMode, isUsual: Bool, isCommon: Bool) -> Bool {
        switch modes {
        case .usual: isUsual
        case .common: isCommon
        case .one(let wanted): wanted == mode.name
        case .any(let wanted): wanted.contains(mode.name) || (isCommon && wanted.contains(.common))
        }
    }

    // MARK: States

    /// The present state.
    var state: State {
        guard let state = State(rawValue: rawState.load(ordering: .acquiring)) else {
            preconditionFailure("a block of a run loop has no state")
        }
        return state
    }

    /// Whether it can still run.
    var isPending: Bool { rawState.load(ordering: .acquiring) == State.pending.rawValue }

    /// Claims it for running; returns whether it was still pending.
    @inline(__always)
    func begin() -> Bool { leavePending(for: .running) }

    /// Runs the closure; called once, after `begin()`.
    func body() {
        closure?()
        rawState.store(State.done.rawValue, ordering: .releasing)
    }

    /// Completes what `begin()` began, whether the closure returned or was abandoned.
    @inline(__always)
    func finish() {
        // The closure did not return: its callout was abandoned.
        if rawState.load(ordering: .relaxed) == State.running.rawValue {
            rawState.store(State.abandoned.rawValue, ordering: .releasing)
        }
        release()
    }

    /// Like `finish()`, for a caller that does not know whether it was begun.
    ///
    /// A cancelled block belongs to whoever cancelled it.
    func finishIfBegun() {
        switch state {
        case .running, .done: finish()
        case .pending, .cancelled, .abandoned, .dropped: break
        }
    }

    /// Ends it without running it; returns whether it was still pending.
    @discardableResult
    func cancel() -> Bool {
        guard leavePending(for: .cancelled) else { return false }
        loop?.noteCancelled(self)
        release()
        return true
    }

    /// Ends it without running it, because the loop's thread has ended.
    func drop() {
        guard leavePending(for: .dropped) else { return }
        release()
    }

    @inline(__always)
    private func leavePending(for state: State) -> Bool {
        rawState.compareExchange(
            expected: State.pending.rawValue,
            desired: state.rawValue,
            ordering: .acquiringAndReleasing
        ).exchanged
    }

    /// Releases what it holds and tells the waiter, if any; called without a lock.
    @inline(__always)
    private func release() {
        closure = nil
        target = nil
        loop = nil
        end?.open()
    }
}

/// A closure for the default or the common modes without any options, as most blocks are.
///
/// Not copyable, nor is an entry: taking one from the queue counts no references.
struct PlainBlock: ~Copyable, Sendable {
    /// The closure, whose actor was checked.
    let closure: KeptClosure
    /// Whether it is for the common modes, and not for the default mode only.
    let isForCommonModes: Bool

    /// The name that crash reports show for it.
    static var label: String { "block" }

    /// Returns whether it may run in a mode. (The default mode is always common.)
    @inline(__always)
    func matches(isUsual: Bool, isCommon: Bool) -> Bool { isUsual || (isCommon && isForCommonModes) }

    /// Returns whether a plain block would be for the common modes; `nil` if a block with these options cannot be a plain one.
    @inline(__always)
    static func isForCommonModes(label: String, mode: HostRunLoop.Mode) -> Bool? {
        guard label == Self.label else { return nil }
        // First the one that is taken if nothing is said.
        if mode == .common { return true }
        return mode == .default ? false : nil
    }
}

/// An entry of a loop's queue of blocks.
///
/// A plain block is stored in the entry itself. A block with a token, an order, a target, a label or a mode of its own needs an
/// object and its allocation.
enum BlockEntry: ~Copyable, Sendable {
    case plain(PlainBlock)
    case object(QueuedBlock)

    /// Whether it can still run.
    @inline(__always)
    var isPending: Bool {
        switch self {
        case .plain: true
        case .object(let block): block.isPending
        }
    }

    /// The name that crash reports show for it; `nil` if it cannot run any more.
    var labelIfPending: String? {
        switch self {
        case .plain: PlainBlock.label
        case .object(let block): block.isPending ? block.name.text : nil
        }
    }

    /// Its place among the blocks that are detached together.
    var order: Int {
        switch self {
        case .plain: 0
        case .object(let block): block.order
        }
    }

    /// Whether it can begin to match when a mode is declared common.
    var dependsOnCommon: Bool {
        switch self {
        case .plain(let block): block.isForCommonModes
        case .object(let block): block.modes.dependOnCommon
        }
    }

    /// Returns whether it can still run, and may in a mode. (The default mode is always common.)
    @inline(__always)
    func canRun(in mode: LoopMode, isUsual: Bool, isCommon: Bool) -> Bool {
        switch self {
        case .plain(let block): block.matches(isUsual: isUsual, isCommon: isCommon)
        case .object(let block): block.isPending && block.matches(mode, isUsual: isUsual, isCommon: isCommon)
        }
    }

    /// Ends it without running it, because the loop's thread has ended.
    consuming func drop() {
        switch consume self {
        case .plain: break
        case .object(let block): block.drop()
        }
    }
}
