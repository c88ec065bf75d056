/// When an item that faults again and again is taken out of its loop, and when it is tried again: a circuit breaker.
///
/// How it relates to `FaultBudget.perItem`: without quarantine, an item may fault so often within a window, and its next fault
/// restarts the process. With quarantine, the same count takes the item out of its loop instead: the fault that reaches it is
/// resumed, and is the last one. So at most `perItem` faults of an item are resumed in a window either way, and every
/// one counts in the budgets of the process, too. An item that has no identity, or a policy with `allowsQuarantine` off, is
/// left to the budget. A port that many peers share (a listening or an unconnected datagram socket, a message port) has neither.
///
/// ```
///             the limit is reached             cool-down over
///   counting ─────────────────────► quarantine ─────────────► probation
///      ▲                                ▲                         │ │
///      │                                └── fault: twice as long ─┘ │
///      └────────────── no fault in all of it: forgiven ─────────────┘
/// ```
public struct QuarantinePolicy: Sendable, Hashable {
    /// How many faults of an item within `window` send it to quarantine; nil for `FaultBudget.perItem`.
    ///
    /// Less than one counts as one.
    public var faults: Int?
    /// The window in which they are counted; nil for `FaultBudget.window`.
    public var window: Duration?
    /// How long an item stays out the first time, and twice as long each further time; nil for ever.
    public var coolDown: Duration?
    /// The longest time out.
    public var longestCoolDown: Duration
    /// How long an item that was put back must run without a fault to be forgiven.
    public var probation: Duration
    /// How often an item is put back before it stays out for ever.
    public var trials: Int

    /// Makes a policy.
    public init(
        faults: Int? = nil,
        window: Duration? = nil,
        coolDown: Duration? = .seconds(30),
        longestCoolDown: Duration = .seconds(3600),
        probation: Duration = .seconds(60),
        trials: Int = .max
    ) {
        self.faults = faults
        self.window = window
        self.coolDown = coolDown
        self.longestCoolDown = longestCoolDown
        self.probation = probation
        self.trials = trials
    }

    /// At the limit of the budget, for 30 seconds at first and an hour at most, with a probation of a minute.
    public static let `default` = QuarantinePolicy()

    /// At the limit of the budget, for ever.
    public static let permanent = QuarantinePolicy(coolDown: nil)

    /// How long an item stays out that was put back so often already; nil for ever.
    func coolDown(afterTrials round: Int) -> Duration? {
        guard let coolDown, round < trials else { return nil }
        return coolDown.doubled(times: round, atMost: longestCoolDown)
    }
}
