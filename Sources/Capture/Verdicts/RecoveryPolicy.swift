/// Which faults may be resumed at all.
///
/// Whether one is also depends on where it happened.
///
/// The process has one policy, and an item may have another.
public struct RecoveryPolicy: Sendable, Hashable {
    /// Failed checks of Swift code, `abort` and `assert` of the application, `ud2`, `int3`.
    public var resumesTraps: Bool
    /// Divisions by zero and other SIGFPE.
    public var resumesArithmeticFaults: Bool
    /// Accesses below page one, where no object lies.
    public var resumesNullAccesses: Bool
    /// Any other memory fault: earlier accesses may have hit the wrong memory.
    public var resumesMemoryFaults: Bool
    /// Overflows of the callout stack in the application's own frames.
    public var resumesStackOverflows: Bool
    /// Whether a callout that runs for longer than its deadline may be abandoned (`CalloutDeadline`).
    ///
    /// Not by `swiftTraps` and `never`.
    public var abandonsOverdueCallouts = true
    /// Whether callouts of loops on other threads than the main one are resumed, too.
    package var resumesOtherLoops = true
    /// Whether an item that faults again and again may be taken out of its loop.
    ///
    /// Without it, the budget of the item ends in a restart.
    package var allowsQuarantine = true
    /// C and C++ code of the executable that you vouch for, by the names of its modules (SwiftPM's targets: `"CMyShim"`).
    ///
    /// If a callback into Swift faults, the C function that called it may hold locks and half-made changes. A static library looks like a
    /// part of the program. So a fault above such a function is not resumed, unless you trust the function: it must hold nothing while it
    /// calls back. Modules are recognised by the folders of the source files, in the debug information.
    ///
    /// Only the process's policy counts here, not an item's.
    public var trustedModules: Set<String> = []
    /// C and C++ functions that you vouch for, by symbol, or by its beginning with a star (`"shim_*"`); needs no debug information.
    ///
    /// Only the process's policy counts here, as for `trustedModules`.
    public var trustedFunctions: Set<String> = []
    /// A rule of your own that can only deny further.
    package var objection: Objection?

    /// Makes a policy of your own.
    package init(
        resumesTraps: Bool,
        resumesArithmeticFaults: Bool,
        resumesNullAccesses: Bool,
        resumesMemoryFaults: Bool,
        resumesStackOverflows: Bool
    ) {
        self.resumesTraps = resumesTraps
        self.resumesArithmeticFaults = resumesArithmeticFaults
        self.resumesNullAccesses = resumesNullAccesses
        self.resumesMemoryFaults = resumesMemoryFaults
        self.resumesStackOverflows = resumesStackOverflows
    }

    /// Failed checks of Swift code only.
    public static let swiftTraps = RecoveryPolicy(
        resumesTraps: true,
        resumesArithmeticFaults: false,
        resumesNullAccesses: false,
        resumesMemoryFaults: false,
        resumesStackOverflows: false
    ).withoutDeadlines

    /// Traps, arithmetic faults and accesses below page one: faults that show that nothing else was touched.
    public static let `default` = RecoveryPolicy(
        resumesTraps: true,
        resumesArithmeticFaults: true,
        resumesNullAccesses: true,
        resumesMemoryFaults: false,
        resumesStackOverflows: false
    )

    /// Every fault that leaves the heap and the locks alone, stack overflows included.
    public static let allMemoryFaults = RecoveryPolicy(
        resumesTraps: true,
        resumesArithmeticFaults: true,
        resumesNullAccesses: true,
        resumesMemoryFaults: true,
        resumesStackOverflows: true
    )

    /// No fault: capture and restart only.
    public static let never = RecoveryPolicy(
        resumesTraps: false,
        resumesArithmeticFaults: false,
        resumesNullAccesses: false,
        resumesMemoryFaults: false,
        resumesStackOverflows: false
    ).withoutDeadlines

    private var withoutDeadlines: RecoveryPolicy {
        var policy = self
        policy.abandonsOverdueCallouts = false
        return policy
    }

    /// Makes the same policy with a rule of your own on top.
    ///
    /// The rule can deny faults that every other rule would resume, and never the reverse. It is called on the crash thread while the
    /// thread that faulted is parked. That thread may hold any lock, even the heap's. So the rule must not allocate, lock or print. Atomics
    /// and reads of what never changes are safe. If it blocks all the same, the deadline passes and nothing is resumed. It is called once
    /// beforehand with a made-up fault, so that types are looked up; that answer is ignored.
    ///
    /// - Parameter objection: Returns a reason not to resume a fault, a literal of less than 192 bytes, or nil.
    /// - Returns: The stricter policy; an objection that this one already has is replaced.
    public func objecting(
        _ objection: @escaping @Sendable (FaultSummary) -> StaticString?
    ) -> RecoveryPolicy {
        var policy = self
        policy.objection = Objection(objection)
        return policy
    }
}
