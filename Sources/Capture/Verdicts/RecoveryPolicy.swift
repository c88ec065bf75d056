/// Which faults may be resumed at all; whether one is depends on where it happened, too.
///
/// One holds for the process, and an item may have another.
public struct RecoveryPolicy: Sendable, Hashable {
    /// Failed checks of Swift code, `abort` and `assert` of the application, `ud2`, `int3`.
    public var resumesTraps: Bool
    /// Divisions by zero and other SIGFPE.
    public var resumesArithmeticFaults: Bool
    /// Accesses below page one, where no object lies.
    public var resumesNullAccesses: Bool
    /// Any other memory fault: the memory that was missed may have been hit before.
    public var resumesMemoryFaults: Bool
    /// Overflows of the callout stack in the application's own frames.
    public var resumesStackOverflows: Bool
    /// Whether a callout that runs for longer than its deadline may be abandoned (`CalloutDeadline`).
    ///
    /// Not by `swiftTraps` and `never`.
    public var abandonsOverdueCallouts = true
    /// Whether callouts of loops on other threads than the main one are resumed, too.
    public var resumesOtherLoops = true
    /// Whether an item that faults again and again may be taken out of its loop.
    ///
    /// Without it, the budget of the item ends in a restart.
    public var allowsQuarantine = true
    /// C and C++ code of the executable that you vouch for, by the names of its modules (SwiftPM's targets: `"CMyShim"`).
    ///
    /// A function of another language that called back into Swift may hold locks and half-made changes of its own when the callback
    /// faults, and a static library passes for a part of the program; so a fault above one is not resumed. The exception is
    /// for code that holds nothing while it calls back. The folders of the source file tell, in the debug information.
    ///
    /// Those of the process's policy count; those of an item's are not looked at.
    public var trustedModules: Set<String> = []
    /// C and C++ functions that you vouch for, by symbol, or with a star at the end by its beginning (`"shim_*"`): also without debug
    /// information.
    ///
    /// Those of the process's policy count, as with `trustedModules`.
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

    /// Traps, arithmetic faults and accesses below page one: faults that say themselves that nothing else was touched.
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

    /// Makes a policy that is the same, with a rule of your own on top.
    ///
    /// It can deny what every other rule would resume, and never the reverse. It is called on the crash thread while the thread that faulted
    /// is parked, which may hold any lock, the heap's among them: it must not allocate, lock or print. Atomics and reads of what never
    /// changes are safe. When it blocks all the same, the deadline passes and nothing is resumed. It is called once beforehand with a fault
    /// that is made up, so that types are looked up; that answer is ignored.
    ///
    /// - Parameter objection: Returns a reason not to resume a fault, a literal of less than 192 bytes, or nil.
    /// - Returns: The stricter policy; an objection that this one has already is replaced.
    public func objecting(
        _ objection: @escaping @Sendable (FaultSummary) -> StaticString?
    ) -> RecoveryPolicy {
        var policy = self
        policy.objection = Objection(objection)
        return policy
    }
}
