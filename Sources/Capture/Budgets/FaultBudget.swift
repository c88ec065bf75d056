/// How many faults may be resumed before the process is restarted: each costs what the abandoned frames owned.
public struct FaultBudget: Sendable, Hashable {
    /// Faults in the life of the process.
    ///
    /// Each keeps a page or more. It needs no mapping of its own, because abandoned stacks lie side by side (`callout_stack.c`).
    public var perProcess: Int
    /// Faults within `window`.
    public var perWindow: Int
    /// The length of a window, which begins with its first fault.
    public var window: Duration
    /// Faults of one item within `window`: an item that faults again and again is broken, not unlucky.
    ///
    /// Some faults count for the process alone: those of no item, of a port that many peers share, and of blocks, each of which is an item
    /// of its own. If quarantine is on, an item that reaches this is taken out of its loop; else its next fault restarts the process.
    public var perItem: Int
    /// Faults in fault boundaries of one label within `window`, until the label is quarantined.
    ///
    /// Less than `perWindow`, so that a route that is broken is refused for a while before the process restarts for it. Labels of adapters
    /// that stand for many routes are not counted. Without `Configuration.Advanced.quarantine` it means nothing.
    public var perLabel: Int
    /// Bytes that abandoned frames have cost so far, as far as that is known.
    package var lostBytes: Int
    /// Descriptors that abandoned frames left open, as far as that is known.
    package var lostDescriptors: Int

    /// Makes a budget.
    package init(
        perProcess: Int,
        perWindow: Int,
        window: Duration = .seconds(60),
        perItem: Int = 5,
        perLabel: Int = 50,
        lostBytes: Int = 256 << 20,
        lostDescriptors: Int = 256
    ) {
        self.perProcess = perProcess
        self.perWindow = perWindow
        self.window = window
        self.perItem = perItem
        self.perLabel = perLabel
        self.lostBytes = lostBytes
        self.lostDescriptors = lostDescriptors
    }

    /// 1,000 faults in the life of the process, 100 within a minute, 5 of them of one item and 50 of one label; 256 MiB and 256 descriptors.
    ///
    /// 256 is a quarter of the 1,024 descriptors that a process may have by default.
    public static let `default` = FaultBudget(perProcess: 1000, perWindow: 100)

    /// As many as there is memory for, for agents whose memory matters more than a clean state.
    public static let generous = FaultBudget(
        perProcess: .max,
        perWindow: .max,
        perItem: .max,
        perLabel: .max,
        lostBytes: .max,
        lostDescriptors: .max
    )
}
