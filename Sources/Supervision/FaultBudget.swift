/// How many faults may be resumed before the process is restarted: each costs what the abandoned frames owned.
public struct FaultBudget: Sendable, Hashable {
    /// Faults in the life of the process.
    ///
    /// Each keeps a mapping (vm.max_map_count is 65,530 by default) and a page or more.
    public var perProcess: Int
    /// Faults within `window`.
    public var perWindow: Int
    /// The length of a window.
    public var window: Duration

    /// Makes a budget.
    public init(perProcess: Int, perWindow: Int, window: Duration = .seconds(60)) {
        self.perProcess = perProcess
        self.perWindow = perWindow
        self.window = window
    }

    /// 1,000 faults in the life of the process, 100 within a minute.
    public static let `default` = FaultBudget(perProcess: 1000, perWindow: 100)

    /// As many as the kernel has mappings for: for agents whose memory is worth more than their purity.
    public static let generous = FaultBudget(perProcess: 20000, perWindow: .max)
}

/// What is left of a budget: a pure count over times that the caller gives.
struct BudgetLedger: Sendable {
    private let budget: FaultBudget
    private var total = 0
    private var windowStart: Duration = .zero
    private var inWindow = 0

    init(_ budget: FaultBudget) {
        self.budget = budget
    }

    /// Whether one more fault may be resumed at `now`, a time since the process began.
    func allows(at now: Duration) -> Bool {
        guard total < budget.perProcess else { return false }
        return now - windowStart >= budget.window || inWindow < budget.perWindow
    }

    /// Counts a fault that is resumed.
    mutating func spend(at now: Duration) {
        if now - windowStart >= budget.window {
            windowStart = now
            inWindow = 0
        }
        total += 1
        inWindow += 1
    }
}
