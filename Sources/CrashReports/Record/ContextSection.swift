/// The part of a spool file that holds what a process was doing and what it had: see `Documentation/CrashContext.md`.
///
/// Takes any bytes: what is not as this version lays it out counts as not there.
struct ContextSection {
    /// Where the header of a spool file names the section, 4 bytes each.
    private static let offsetOffset = 3224

    /// The layout that this version knows: numbers of the section's head that must be as they are.
    private enum Layout {
        static let headSize = 6632
        static let ringSize = 64 + 64 * 128
        static let eventSize = 64
        static let eventCount = 128
        static let entrySize = 256
        static let noteCount = 64
        static let annotationCount = 32
        static let tagCount = 16
        static let maximumRings = 64
        static let maximumSnapshots = 256
    }

    private let bytes: RecordBytes

    /// Finds the section in a whole spool file; nil where there is none.
    init?(_ file: RecordBytes) {
        let offset = Int(file.integer(Self.offsetOffset, as: UInt32.self))
        let size = Int(file.integer(Self.offsetOffset + 4, as: UInt32.self))
        guard offset > 0 else { return nil }
        bytes = file.slice(offset, size)
        let expected = [
            (8, Layout.ringSize), (16, Layout.eventCount), (24, Layout.entrySize), (28, Layout.noteCount),
            (36, Layout.entrySize), (40, Layout.annotationCount), (44, Layout.tagCount),
        ]
        guard bytes.count >= Layout.headSize, number(0) >= Layout.headSize,
            expected.allSatisfy({ number($0.0) == $0.1 }), number(52) >= FaultContext.size
        else { return nil }
    }

    private func number(_ offset: Int) -> Int { Int(bytes.integer(offset, as: UInt32.self)) }

    // MARK: What does not change

    var environment: [String: String] {
        var variables: [String: String] = [:]
        for entry in bytes.texts(488, min(number(60), 4096)) {
            let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, !parts[0].isEmpty { variables[String(parts[0])] = String(parts[1]) }
        }
        return variables
    }

    var redaction: TextRedaction {
        let flags = bytes.integer(80, as: UInt32.self)
        // Nobody said what holds: then what holds by default.
        guard flags & 1 != 0 else { return TextRedaction() }
        return TextRedaction(spoolRules: bytes.texts(4584, min(number(84), 2048)), flags: flags)
    }

    var container: CrashReport.Context.Container? {
        guard number(88) == 1 else { return nil }
        func text(_ offset: Int, _ size: Int) -> String? {
            let text = bytes.text(offset, size)
            return text.isEmpty ? nil : text
        }
        let memory = bytes.integer(96, as: UInt64.self)
        let processors = number(92)
        let container = CrashReport.Context.Container(
            runtime: text(104, 32),
            id: text(136, 96),
            controlGroup: text(232, 256),
            memoryLimit: memory > 0 ? Int(clamping: memory) : nil,
            processorLimit: processors > 0 ? Double(processors) / 1000 : nil
        )
        return container == CrashReport.Context.Container() ? nil : container
    }

    /// When one of the loops read the clock last, on the monotonic one in nanoseconds; nil if none did.
    var lastActivity: Int64? {
        (0..<min(number(12), Layout.maximumRings)).map { index in
            bytes.slice(number(4) + index * Layout.ringSize, Layout.ringSize).integer(16, as: Int64.self)
        }.max()
    }

    // MARK: Faults

    /// What was kept of a fault; of one that was not far enough, what lives on.
    func context(of record: FaultRecord, startedAt start: Int64) -> FaultContext? {
        guard record.number > 0 else { return nil }
        let offset = number(48)
        let size = number(52)
        for index in 0..<min(number(56), Layout.maximumSnapshots) {
            let snapshot = bytes.slice(offset + index * size, size)
            if let context = FaultContext(snapshot), context.fault == record.number { return context }
        }
        guard record.facts.isDisjoint(with: .forkedChild) else { return nil }
        return liveContext(of: record, startedAt: start)
    }

    /// What the process left as it ended, without what came after the fault.
    func liveContext(of record: FaultRecord, startedAt start: Int64) -> FaultContext? {
        let time = start.addingReportingOverflow(record.uptimeNanoseconds)
        guard !time.overflow else { return nil }
        var events: [FaultContext.Event] = []
        var lost = 0
        let rings = (0..<min(number(12), Layout.maximumRings)).map {
            bytes.slice(number(4) + $0 * Layout.ringSize, Layout.ringSize)
        }
        func isOf(_ thread: Int, _ ring: RecordBytes) -> Bool { Int(ring.integer(4, as: Int32.self)) == thread }
        // As the handler chooses it: the thread's own, or that of the first thread, whose id is the pid.
        let pid = record.pid ?? 0
        if let ring = rings.first(where: { isOf(record.thread, $0) })
            ?? rings.first(where: { pid > 0 && isOf(pid, $0) })
        {
            let thread = Int(ring.integer(4, as: Int32.self))
            events = FaultContext.events(ring, at: 64, count: Layout.eventCount, thread: thread)
            lost = max(0, Int(clamping: ring.integer(8, as: UInt64.self)) - events.count)
        }
        let notes = FaultContext.notes(bytes, at: number(20), count: Layout.noteCount)
        lost += max(0, Int(clamping: bytes.integer(64, as: UInt64.self)) - notes.count)
        let values = FaultContext.values(bytes, at: number(32), count: Layout.annotationCount + Layout.tagCount) { $0 }
        let context = FaultContext(
            fault: record.number,
            events: events,
            notes: notes,
            lost: lost,
            annotations: values.annotations,
            tags: values.tags
        )
        let before = context.before(time.partialValue)
        return before.isEmpty ? nil : before
    }
}
