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
    #expect(report.fault.signal == .signal(Int(fault.signal)), "\(fault)", sourceLocation: location)
    #expect(report.fault.code == code, "\(fault)", sourceLocation: location)
    #expect(report.fault.access == expected.access, "\(fault)", sourceLocation: location)
    #expect(report.fault.addressKind == expected.addressKind, "\(fault)", sourceLocation: location)
    #expect(report.fault.exception == expected.exception, "\(fault)", sourceLocation: location)
    #expect(report.fault.number == number, "\(fault)", sourceLocation: location)
    #expect(report.verdict.decision == expected.verdict, "\(fault): \(report.verdict.reason)", sourceLocation: location)
    #expect(report.process.pid == Int(pid), sourceLocation: location)
    #expect(report.process.name == "holdfast-agent", sourceLocation: location)
    #expect(report.thread.isMain, sourceLocation: location)
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
