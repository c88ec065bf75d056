import FaultInjection
import Glibc
import Holdfast
import Logging

/// A log that faults when it is told something on the thread that makes reports, in the process after the first restart.
struct FaultingLog: LogHandler {
    private let isArmed = getenv("HOLDFAST_RESTARTS").map { String(cString: $0) } == "1"
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        if isArmed, currentThreadName == "holdfast-report" { Fault.nilUnwrap.commit() }
    }
}

/// The name of the running thread: comm of proc(5).
private var currentThreadName: String {
    guard let file = fopen("/proc/thread-self/comm", "r") else { return "" }
    defer { fclose(file) }
    var name = [UInt8](repeating: 0, count: 16)
    let count = fread(&name, 1, name.count, file)
    return String(decoding: name.prefix(count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
}

extension Probe {
    /// The second page of the first slot cannot be written: the handler faults when it has claimed the slot.
    func faultInHandler() {
        guard let page = Self.pageOfFirstSlot() else { return Self.say("no spool file is mapped") }
        mprotect(page, 4096, PROT_READ)
        perform { Fault.nilUnwrap.commit() }
        finishNever()
    }

    /// The page in which the first slot goes on: a slot is longer than a page.
    private static func pageOfFirstSlot() -> UnsafeMutableRawPointer? {
        guard let maps = fopen("/proc/self/maps", "r") else { return nil }
        defer { fclose(maps) }
        var line: UnsafeMutablePointer<CChar>?
        var size = 0
        defer { free(line) }
        while getline(&line, &size, maps) > 0, let text = line.map({ String(cString: $0) }) {
            let first = text.split(separator: "-").first.flatMap { UInt($0, radix: 16) }
            guard text.contains(".spool"), let start = first, let header = UnsafeRawPointer(bitPattern: start) else {
                continue
            }
            // Its offset in the file, by Documentation/CrashRecordFormat.md.
            let slot = UInt(header.loadUnaligned(fromByteOffset: 32, as: UInt32.self))
            return UnsafeMutableRawPointer(bitPattern: (start + slot + 4095) & ~4095)
        }
        return nil
    }

    func cxxException() {
        perform { Fault.cxxException.commit() }
        finishNever()
    }

    /// The process that finds the record of this fault has a log that faults when it is told of it.
    func faultInReportWriter() {
        if host.restarts == 0 { perform { Fault.wildPointer.commit() } }
        finishNever()
    }
}
