/// A closure for the default or the common modes, with nothing else to say about it: most blocks are that.
struct PlainBlock: Sendable {
    let closure: @Sendable () -> Void
    /// Whether it is for the common modes, and not for the default mode only.
    let isForCommonModes: Bool

    /// What a crash report calls it.
    static let label = "block"

    /// Makes one, unless there is something else to say.
    init?(label: String, mode: HostRunLoop.Mode, _ closure: @escaping @Sendable () -> Void) {
        guard label == Self.label else { return nil }
        switch mode {
        case .default: isForCommonModes = false
        case .common: isForCommonModes = true
        default: return nil
        }
        self.closure = closure
    }
}

/// A place in a loop's queue of blocks.
///
/// A plain block is stored in it. An object, with its allocation, is made where the block has a token, an order, a target or
/// a label of its own.
enum BlockEntry: Sendable {
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

    /// Its place among the blocks that are detached in one go.
    var order: Int {
        switch self {
        case .plain: 0
        case .object(let block): block.order
        }
    }

    /// Whether declaring a mode common can make it match.
    var dependsOnCommon: Bool {
        switch self {
        case .plain(let block): block.isForCommonModes
        case .object(let block): block.modes.dependOnCommon
        }
    }

    /// Says whether it may run in a mode; the default mode is always common.
    @inline(__always)
    func matches(_ mode: LoopMode, isUsual: Bool, isCommon: Bool) -> Bool {
        switch self {
        case .plain(let block): isUsual || (isCommon && block.isForCommonModes)
        case .object(let block): block.matches(mode, isUsual: isUsual, isCommon: isCommon)
        }
    }

    /// Ends it unrun because the loop's thread has ended.
    func drop() {
        if case .object(let block) = self { block.drop() }
    }
}
