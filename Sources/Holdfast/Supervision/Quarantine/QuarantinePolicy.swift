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
package struct QuarantinePolicy: Sendable, Hashable {
    /// How long an item stays out, longer each time.
    package var times: BackOff
    /// How long an item that was put back must run without a fault to be forgiven.
    package var healthyAfter: Duration
    /// How often an item is put back before it stays out for ever.
    package var trials: Int

    /// Makes a policy.
    package init(
        times: BackOff = BackOff(first: .seconds(30), longest: .seconds(3600)),
        healthyAfter: Duration = .seconds(60),
        trials: Int = .max
    ) {
        self.times = times
        self.healthyAfter = healthyAfter
        self.trials = trials
    }

    /// For 30 seconds at first and an hour at most, on probation for a minute.
    package static let `default` = QuarantinePolicy()

    /// How long an item stays out that was put back so often already; nil for ever.
    func coolDown(afterTrials round: Int) -> Duration? {
        round < trials ? times.time(after: round) : nil
    }
}
