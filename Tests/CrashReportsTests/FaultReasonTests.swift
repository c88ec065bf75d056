import Testing

@testable import CrashReports

@Suite struct FaultReasonTests {
    private static let other = CrashReport.Fault.Sender(pid: 12, uid: 0)
    private static let own = CrashReport.Fault.Sender(pid: 7, uid: 0)
    private static let place = "demo/main.swift:4: "
    private static let leak = "SWIFT TASK CONTINUATION MISUSE: main() leaked its continuation without resuming it.\n"

    private static func reason(
        signal: Int,
        code: Int,
        address: HexAddress? = nil,
        access: CrashReport.Fault.Access = .unknown,
        addressKind: CrashReport.Fault.AddressKind? = nil,
        message: String? = nil,
        runtimeFailure: String? = nil,
        sender: CrashReport.Fault.Sender? = nil,
        pid: Int? = nil
    ) -> FaultReason {
        let fault = CrashReport.Fault(
            number: 1,
            signal: .signal(signal),
            code: .code(code, ofSignal: signal),
            address: address,
            access: access,
            addressKind: addressKind,
            message: message,
            sender: sender
        )
        return FaultReason(fault: fault, pid: pid, runtimeFailure: runtimeFailure)
    }

    private static let cases: [(FaultReason, String)] = [
        (reason(signal: 4, code: 2, message: place + "Fatal error: Unexpectedly found nil"), "Unexpectedly found nil"),
        (reason(signal: 4, code: 2, message: "Fatal error: boom\nmore\n"), "boom"),
        (reason(signal: 4, code: 2, message: place + "Fatal error"), "fatal error"),
        (reason(signal: 4, code: 2, message: place + "Fatal error", runtimeFailure: "nil"), "nil"),
        (reason(signal: 4, code: 2, message: place + "Precondition failed: x > 0"), "Precondition failed: x > 0"),
        (reason(signal: 4, code: 2, runtimeFailure: "arithmetic overflow"), "arithmetic overflow"),
        (reason(signal: 4, code: 2, message: leak, runtimeFailure: "Index out of range"), "Index out of range"),
        (reason(signal: 4, code: 2, message: leak + leak + place + "Fatal error: boom\n"), "boom"),
        (reason(signal: 6, code: -6, message: leak), "abort"),
        (reason(signal: 4, code: 2), "illegal instruction"),
        (reason(signal: 4, code: 5), "privileged instruction"),
        (reason(signal: 5, code: 1), "breakpoint trap"),
        (reason(signal: 5, code: 0x80), "breakpoint trap"),
        (reason(signal: 6, code: -6), "abort"),
        (reason(signal: 6, code: -6, sender: own, pid: 7), "abort"),
        (reason(signal: 6, code: -6, sender: other, pid: 7), "killed by SIGABRT from pid 12 (uid 0)"),
        (
            reason(signal: 6, code: -6, message: "double free or corruption (out)\n"),
            "abort: double free or corruption (out)"
        ),
        (reason(signal: 7, code: 2), "bus error past the end of a mapped file"),
        (reason(signal: 7, code: 1, address: .init(3), access: .read), "misaligned read of address 0x3"),
        (reason(signal: 8, code: 1), "division by zero"),
        (reason(signal: 8, code: 7), "arithmetic fault (FPE_FLTINV)"),
        (reason(signal: 11, code: 1, address: .init(8), access: .read), "read of address 0x8 (null page)"),
        (reason(signal: 11, code: 1, address: .init(0x5000), access: .write), "write to address 0x5000 (unmapped)"),
        (
            reason(signal: 11, code: 2, address: .init(0x5000), access: .write, addressKind: .readOnly),
            "write to address 0x5000 (read-only memory)"
        ),
        (reason(signal: 11, code: 1, address: .init(0), access: .execute), "jump to address 0x0 (null page)"),
        (reason(signal: 11, code: 2, address: .init(0x5000), addressKind: .stackGuard), "stack overflow"),
        (reason(signal: 11, code: 0x80, addressKind: .nonCanonical), "access to a non-canonical address"),
        (reason(signal: 11, code: 0, sender: other, pid: 7), "killed by SIGSEGV from pid 12 (uid 0)"),
        (reason(signal: 11, code: -6, sender: own, pid: 7), "SIGSEGV raised by the process itself"),
        (reason(signal: 11, code: 1, message: "Fatal error: old"), "access to an unknown address (unmapped)"),
        (reason(signal: 31, code: 1), "forbidden system call"),
        (reason(signal: 99, code: 7), "signal 99 (7)"),
        (reason(signal: .max, code: .max), "signal 9223372036854775807 (9223372036854775807)"),
        (reason(signal: .min, code: .min), "killed by signal -9223372036854775808"),
    ]

    @Test(arguments: cases)
    func `A fault has a plain reason`(fault: FaultReason, text: String) {
        #expect(fault.text == text)
    }

    @Test(
        arguments: [
            (2, "2 s"), (0.25, "250 ms"), (1.5, "1.5 s"), (0.001, "1 ms"), (86_400, "24 h 0 min"),
            (-1, "an unknown time"),
            (.nan, "an unknown time"), (1e300, "longer than the clock can tell"),
        ] as [(Double, String)]
    )
    func `A callout that took too long is named with its deadline`(seconds: Double, text: String) {
        let callout = CrashReport.LoopState.Callout(kind: .timer, label: "a timer", item: 7)
        var reason = Self.reason(signal: 16, code: -6, sender: .init(pid: 1, uid: 0), pid: 1)
        reason.fault.deadlineSeconds = seconds
        #expect(reason.text == "the callout ran for more than its deadline of \(text)")
        reason.callout = callout
        #expect(reason.text == "the callout \"a timer\" ran for more than its deadline of \(text)")
        reason.fault.deadlineSeconds = nil
        #expect(reason.text == "SIGSTKFLT raised by the process itself")
    }

    @Test func `A reason is one line and not long`() {
        let reason = Self.reason(signal: 6, code: -6, message: String(repeating: "x", count: 10_000))
        #expect(reason.text.count < 400)
    }

    @Test(arguments: [
        (1, "SIGHUP"), (4, "SIGILL"), (11, "SIGSEGV"), (31, "SIGSYS"), (34, "SIGRTMIN"), (37, "SIGRTMIN+3"),
        (64, "SIGRTMIN+30"), (0, "signal 0"), (32, "signal 32"), (-1, "signal -1"),
    ])
    func `Signals have names`(number: Int, name: String) {
        #expect(SignalNames.signal(number) == name)
    }

    @Test(arguments: [
        (11, 1, "SEGV_MAPERR"), (11, 2, "SEGV_ACCERR"), (11, 0x80, "SI_KERNEL"), (11, 0, "SI_USER"),
        (6, -6, "SI_TKILL"), (6, -1, "SI_QUEUE"), (4, 1, "ILL_ILLOPC"), (4, 2, "ILL_ILLOPN"), (8, 1, "FPE_INTDIV"),
        (8, 7, "FPE_FLTINV"), (7, 2, "BUS_ADRERR"), (5, 1, "TRAP_BRKPT"), (31, 1, "SYS_SECCOMP"), (11, 77, "77"),
        (10, 5, "5"),
    ])
    func `Causes have names`(signal: Int, code: Int, name: String) {
        #expect(SignalNames.code(code, ofSignal: signal) == name)
    }
}
