import Glibc

@testable import CrashReports
@testable import ReportText

/// What libFuzzer calls, with one input after the other: the first byte says what reads the others.
///
/// Whatever the bytes are, they are a value or an error. A trap, a hang or too much memory ends the fuzzer with the input in a file.
func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let start, count > 0 else { return 0 }
    let bytes = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
    switch start[0] {
    case UInt8(ascii: "S"): fuzzSpool(bytes)
    case UInt8(ascii: "R"): fuzzRecord(bytes)
    case UInt8(ascii: "J"): fuzzReport(bytes)
    case UInt8(ascii: "N"): fuzzName(bytes)
    case UInt8(ascii: "!") where isProof: fatalError("on purpose")
    default: return -1
    }
    return 0
}

/// Whether a trap is to be shown, so that whoever runs the fuzzer knows that it sees one.
private let isProof = getenv("FUZZ_PROVE") != nil

/// The spool of a process that died.
private func fuzzSpool(_ bytes: [UInt8]) {
    guard let contents = try? SpoolContents(bytes: bytes) else { return }
    require(contents.records.count <= 4096 && contents.images.count <= 4096)
    for record in contents.records { fuzzRecord(record) }
}

private func fuzzRecord(_ bytes: [UInt8]) {
    if let record = FaultRecord(bytes: bytes) { fuzzRecord(record) }
}

private func fuzzRecord(_ record: FaultRecord) {
    require(record.frames.count <= 256 && record.headFrameCount <= record.frames.count)
    let fault = CrashReport.Fault(
        number: record.number,
        signal: .signal(record.signal),
        code: .code(record.code, ofSignal: record.signal),
        address: HexAddress(record.address),
        access: .unknown,
        message: record.message,
        exception: record.exception
    )
    _ = FaultReason(fault: fault, pid: record.pid, isRuntimeMessage: true).text
}

/// The file of a report: everything that `crashreport` does with it.
private func fuzzReport(_ bytes: [UInt8]) {
    guard let report = try? CrashReport(json: bytes) else { return }
    _ = ReportTable([ReportSummary(report, in: ReportStore(path: "/"))]).text(TextLayout(width: 80))
    let text = ReportText(report).text()
    require(!text.unicodeScalars.contains { $0 != "\n" && $0.properties.generalCategory == .control })
    var explained = report
    explained.explain()
    for line in (explained.diagnosis?.next ?? []) + [explained.diagnosis?.summary ?? ""] {
        require(line.count <= 401)
    }
    // Whatever was read can be written, and is the same when it is read again.
    guard let written = try? report.json() else { return }
    require((try? CrashReport(json: written)) == report)
}

/// Names of functions and texts of runtimes.
private func fuzzName(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    _ = StableName.of(text)
    _ = StableName.parent(ofClosure: text)
    require(StableText.of(text).count <= StableText.limit)
    _ = FaultClass(message: text, isAbort: true)?.fingerprintName
    _ = FaultClass(message: text, isAbort: false)?.fingerprintName
    _ = FaultClass(check: text).fingerprintName
    let fault = CrashReport.Fault(
        number: 1,
        signal: .signal(6),
        code: .code(-6, ofSignal: 6),
        access: .unknown,
        message: text
    )
    _ = FaultReason(fault: fault, runtimeFailure: text).text
    _ = TextRedaction(emailAddresses: true, secretNames: [text], patterns: [text]).redact(text)
}

private func require(_ condition: Bool, _ line: UInt = #line) {
    if !condition { fatalError("not as it must be", line: line) }
}
