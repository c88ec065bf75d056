internal import CRecordLayout

/// The part of a spool file that holds what a process was doing and what it had: see `Documentation/CrashContext.md`.
///
/// Takes any bytes: what is not as this version lays it out counts as not there.
struct ContextSection {
    /// More rings and snapshots than any file has.
    private static let maximumRings = 64
    private static let maximumSnapshots = 256

    private let bytes: RecordBytes
    private let head: RecordView<HFContextArea>

    /// Finds the section in a whole spool file; nil where there is none.
    init?(_ file: RecordBytes) {
        let header = RecordView<HFSpoolHeader>(file)
        guard header.context_offset > 0 else { return nil }
        bytes = file.slice(Int(header.context_offset), Int(header.context_size))
        head = RecordView(bytes)
        guard head.isWhole, head.size >= RecordView<HFContextArea>.size,
            head.ring_size == RecordView<HFEventRing>.size, head.event_count == HF_EVENT_COUNT,
            head.note_size == RecordView<HFNote>.size, head.note_count == HF_NOTE_COUNT,
            head.value_size == RecordView<HFValue>.size, head.annotation_count == HF_ANNOTATION_COUNT,
            head.tag_count == HF_TAG_COUNT, head.snapshot_size >= RecordView<HFSnapshot>.size
        else { return nil }
    }

    /// An array of the section: so many entries of a size, from an offset on.
    private func entries<Entry>(
        of type: Entry.Type,
        at offset: UInt32,
        size: Int = RecordView<Entry>.size,
        count: Int
    ) -> [RecordView<Entry>] {
        (0..<count).map { RecordView(bytes.slice(Int(offset) + $0 * size, size)) }
    }

    private var rings: [RecordView<HFEventRing>] {
        entries(
            of: HFEventRing.self,
            at: head.ring_offset,
            count: head.clamped(\.ring_count, atMost: Self.maximumRings)
        )
    }

    // MARK: What does not change

    var environment: [String: String] {
        var variables: [String: String] = [:]
        for entry in head.texts(\.environment, length: head.environment_length) {
            let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, !parts[0].isEmpty { variables[String(parts[0])] = String(parts[1]) }
        }
        return variables
    }

    var redaction: TextRedaction {
        let flags = head.redaction_flags
        // Nobody said what holds: then what holds by default.
        guard Int(flags) & HF_REDACTION_KNOWN != 0 else { return TextRedaction() }
        return TextRedaction(spoolRules: head.texts(\.redaction, length: head.redaction_length), flags: flags)
    }

    var container: CrashReport.Context.Container? {
        guard head.container_known == 1 else { return nil }
        let container = CrashReport.Context.Container(
            runtime: head.nonEmptyText(\.container_runtime),
            id: head.nonEmptyText(\.container_id),
            controlGroup: head.nonEmptyText(\.control_group),
            memoryLimit: head.memory_limit > 0 ? Int(clamping: head.memory_limit) : nil,
            processorLimit: head.processor_limit > 0 ? Double(head.processor_limit) / 1000 : nil
        )
        return container == CrashReport.Context.Container() ? nil : container
    }

    /// When one of the loops read the clock last, on the monotonic one in nanoseconds; nil if none did.
    var lastActivity: Int64? { rings.map(\.time).max() }

    // MARK: Faults

    /// What was kept of a fault; of one that was not far enough, what lives on.
    func context(of record: FaultRecord, startedAt start: Int64) -> FaultContext? {
        guard record.number > 0 else { return nil }
        let snapshots = entries(
            of: HFSnapshot.self,
            at: head.snapshot_offset,
            size: Int(head.snapshot_size),
            count: head.clamped(\.snapshot_count, atMost: Self.maximumSnapshots)
        )
        for snapshot in snapshots {
            if Int(snapshot.fault) == record.number, let context = FaultContext(snapshot.storage) { return context }
        }
        guard record.facts.isDisjoint(with: .forkedChild) else { return nil }
        let end = start.addingReportingOverflow(record.uptimeNanoseconds)
        return liveContext(ofThread: record.thread, in: record.pid, before: end)
    }

    /// What the process left as it ended, without what came after the fault.
    func liveContext(
        ofThread thread: Int,
        in pid: Int? = nil,
        before time: (partialValue: Int64, overflow: Bool)
    ) -> FaultContext? {
        guard !time.overflow else { return nil }
        var events: [FaultContext.Event] = []
        var lost = 0
        let rings = rings
        // As the handler chooses it: the thread's own, or that of the first thread, whose id is the pid.
        if let ring = rings.first(where: { Int($0.thread) == thread })
            ?? rings.first(where: { $0.thread > 0 && Int($0.thread) == pid })
        {
            events = FaultContext.events(ring.parts(\.events, of: HFLoopEvent.self), thread: Int(ring.thread))
            lost = max(0, Int(clamping: ring.count) - events.count)
        }
        let notes = FaultContext.notes(entries(of: HFNote.self, at: head.note_offset, count: HF_NOTE_COUNT))
        lost += max(0, Int(clamping: head.notes_total) - notes.count)
        let values = FaultContext.values(
            entries(of: HFValue.self, at: head.value_offset, count: HF_VALUE_COUNT).enumerated().map { ($0, $1) }
        )
        let context = FaultContext(
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

/// What was around a process for all of its life, as far as it may be told.
package struct ProcessSurroundings: Sendable, Hashable {
    /// The variables of the environment that may be told.
    package var environment: [String: String] = [:]
    /// The container or the control group it ran in; nil when none is known.
    package var container: CrashReport.Context.Container?
    /// How texts of the process are redacted.
    package var redaction = TextRedaction()
    /// Whether the spool file has a place for the context of faults.
    package var hasContexts = false

    init(_ section: ContextSection?) {
        guard let section else { return }
        hasContexts = true
        environment = section.environment
        container = section.container
        redaction = section.redaction
    }
}
