import CrashReports
import FaultInjection
import Glibc
import Testing

/// Checks a report of an injected fault against what is known of the fault.
func check(
    _ report: CrashReport,
    _ fault: Fault,
    pid: pid_t,
    number: Int,
    location: SourceLocation = #_sourceLocation
) throws {
    let expected = FaultExpectation(fault)
    let code = CrashReport.Fault.NumberedName.code(expected.code, ofSignal: Int(fault.signal))
    #expect(report.fault?.signal == .signal(Int(fault.signal)), "\(fault)", sourceLocation: location)
    #expect(report.fault?.code == code, "\(fault)", sourceLocation: location)
    #expect(report.fault?.access == expected.access, "\(fault)", sourceLocation: location)
    #expect(report.fault?.addressKind == expected.addressKind, "\(fault)", sourceLocation: location)
    #expect(report.fault?.exception == expected.exception, "\(fault)", sourceLocation: location)
    #expect(report.fault?.number == number, "\(fault)", sourceLocation: location)
    #expect(report.verdict.decision == expected.verdict, "\(fault): \(report.verdict.reason)", sourceLocation: location)
    #expect(report.process.pid == Int(pid), sourceLocation: location)
    #expect(report.process.name == "holdfast-agent", sourceLocation: location)
    #expect(report.thread.isMain, sourceLocation: location)
    let summary = report.diagnosis?.summary ?? "none"
    #expect(summary.contains(diagnosis(of: fault)), "\(fault): \(summary)", sourceLocation: location)
    check(report.fault?.mapping, of: fault, location)
    #expect(report.diagnosis?.next.isEmpty == false, "\(fault)", sourceLocation: location)
    #expect(report.fingerprint == Fingerprint(of: report), "\(fault)", sourceLocation: location)
    #expect(!report.thread.framesTruncated, "\(fault)", sourceLocation: location)

    let loop = try #require(report.loop, sourceLocation: location)
    #expect(loop.callout?.kind == .port, sourceLocation: location)
    #expect(loop.callout?.label.hasPrefix("client ") == true, sourceLocation: location)
    #expect(loop.nesting == 1 && loop.pass > 0, sourceLocation: location)
    try checkFrames(of: report, fault, location)
}

/// The first frame of user code is the function that commits the fault, at a line of its body, and the callout is above it.
private func checkFrames(of report: CrashReport, _ fault: Fault, _ location: SourceLocation) throws {
    let source = try FaultSource(of: fault)
    let top = report.thread.frames.first(where: \.isUserCode)
    let walk = report.thread.frames.map { $0.function ?? "\($0.imageName ?? "?")+\($0.address)" }
    let frame = try #require(top, "\(fault): \(walk) \(report.notes)", sourceLocation: location)
    let words = frame.function?.split { !$0.isLetter && !$0.isNumber } ?? []
    #expect(words.contains { $0 == fault.functionName }, "\(fault): \(walk)", sourceLocation: location)
    #expect(frame.file == source.path, "\(fault)", sourceLocation: location)
    let line = try #require(frame.line, "\(fault)", sourceLocation: location)
    #expect(source.body.contains(line), "\(fault): \(line), not in \(source.body)", sourceLocation: location)
    #expect(report.location.contains(fault.functionName), sourceLocation: location)
    #expect(walk.contains { $0.contains("answer") }, "\(fault): \(walk)", sourceLocation: location)
}

/// Words of the runtime that must be in the report of a fault.
///
/// Most traps of optimised code are bare: they have no text.
func message(of fault: Fault, isDebug: Bool) -> String? {
    switch fault {
    case .precondition where isDebug: "the answer is 42"
    case .fatalError: "a fault on purpose"
    case .nilUnwrap where isDebug: "Unexpectedly found nil"
    case .indexOutOfRange where isDebug: "Index out of range"
    case .tryBang: "InjectedError"
    case .asBang: "Could not cast value"
    case .duplicateKey where isDebug: "duplicate keys"
    case .exclusivity: "access conflict"
    case .assert: "answer == 42"
    case .doubleFree: "double free"
    case .heapSmash: "free(): invalid"
    default: nil
    }
}

/// What is mapped at the address of a memory fault.
private func check(_ mapping: CrashReport.Fault.Mapping?, of fault: Fault, _ location: SourceLocation) {
    switch fault {
    case .busPastEof:
        #expect(mapping?.place == .inside && mapping?.permissions == "r--s", sourceLocation: location)
        #expect(mapping?.name.contains("bus-past-eof") == true, sourceLocation: location)
    case .readOnlyWrite, .dataJump:
        #expect(mapping?.place == .inside, "\(fault)", sourceLocation: location)
        #expect(mapping?.name.hasSuffix("/holdfast-agent") == true, "\(fault)", sourceLocation: location)
        #expect(mapping?.permissions.contains("x") == (fault == .readOnlyWrite), "\(fault)", sourceLocation: location)
    // Nothing is near, or there is no address.
    default: #expect(mapping == nil, "\(fault): \(mapping.debugDescription)", sourceLocation: location)
    }
}

/// Words that the diagnosis of a fault must have, in debug and in optimised code alike.
private func diagnosis(of fault: Fault) -> String {
    switch fault {
    case .nilUnwrap: "an optional was nil"
    case .indexOutOfRange: "an element that it does not have"
    case .overflow: "too large or too small for its type"
    case .precondition: "A condition that the code relies on did not hold"
    case .fatalError: "gave up on purpose (fatalError): “a fault on purpose”"
    case .tryBang: "declared impossible (try!) was thrown, a FaultInjection.InjectedError"
    case .asBang: "type Swift.Int was taken for a Swift.String"
    case .duplicateKey: "the same key twice"
    case .exclusivity: "already being changed or read"
    case .nullRead: "24 bytes into it: the code read address 0x18 (null page)"
    case .nullWrite: "24 bytes into it: the code wrote to address 0x18 (null page)"
    case .wildPointer: "A pointer led nowhere: the code read address 0x123456789abc"
    case .nonCanonical: "a value that no address has"
    case .readOnlyWrite: "which may not be written"
    case .nullCall: "called through a null pointer"
    case .dataJump: "which is no code"
    case .divideByZero: "divided by zero"
    case .ud2: "a trap"
    case .int3: "came to a breakpoint"
    case .abort: "gave up on purpose (abort)"
    case .assert: "An assertion of C code did not hold: “answer == 42”"
    case .busPastEof: "shorter than its mapping"
    case .stackOverflow: "is used up: faultStackOverflow calls itself without end"
    case .doubleFree: "freed twice"
    case .heapSmash: "its own notes overwritten"
    case .cxxException: "std::runtime_error was thrown and nobody caught it: “an exception that nobody catches”"
    case .raiseSegv: "sent itself SIGSEGV"
    }
}
