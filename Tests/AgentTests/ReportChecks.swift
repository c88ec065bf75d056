import CrashReports
import FaultInjection
import Glibc
import Testing

/// Checks a report of an injected fault against what is known of the fault.
func check(_ report: CrashReport, _ fault: Fault, pid: pid_t, number: Int, location: SourceLocation = #_sourceLocation) throws {
    let expected = FaultExpectation(fault)
    #expect(report.fault.signal == .signal(Int(fault.signal)), "\(fault)", sourceLocation: location)
    #expect(report.fault.code == .code(expected.code, ofSignal: Int(fault.signal)), "\(fault)", sourceLocation: location)
    #expect(report.fault.access == expected.access, "\(fault)", sourceLocation: location)
    #expect(report.fault.addressKind == expected.addressKind, "\(fault)", sourceLocation: location)
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

    let source = try FaultSource(of: fault)
    let top = report.thread.frames.first(where: \.isUserCode)
    let walk = report.thread.frames.map { $0.function ?? "\($0.imageName ?? "?")+\($0.address)" }
    let frame = try #require(top, "\(fault): \(walk) \(report.notes)", sourceLocation: location)
    let words = frame.function?.split { !$0.isLetter && !$0.isNumber } ?? []
    #expect(words.contains { $0 == fault.functionName }, "\(fault) is in \(frame.function ?? "?")", sourceLocation: location)
    #expect(frame.file == source.path, "\(fault)", sourceLocation: location)
    let line = try #require(frame.line, "\(fault)", sourceLocation: location)
    #expect(source.body.contains(line), "\(fault) is in lines \(source.body), not in \(line)", sourceLocation: location)
    #expect(report.location.contains(fault.functionName), sourceLocation: location)
    #expect(report.thread.frames.contains { $0.function?.contains("answer") == true }, "\(fault)", sourceLocation: location)
}

/// Words of the runtime that must be in the report of a fault, in debug builds; in release builds only those that the runtime
/// prints there, too.
func message(of fault: Fault, isDebug: Bool) -> String? {
    switch fault {
    case .precondition where isDebug: "the answer is 42"
    case .fatalError: "a fault on purpose"
    case .nilUnwrap where isDebug: "Unexpectedly found nil"
    case .indexOutOfRange where isDebug: "Index out of range"
    case .tryBang: "InjectedError"
    case .asBang: "Could not cast value"
    case .duplicateKey: "duplicate keys"
    case .exclusivity: "access conflict"
    case .assert: "answer == 42"
    case .doubleFree: "double free"
    case .heapSmash: "free(): invalid"
    default: nil
    }
}
