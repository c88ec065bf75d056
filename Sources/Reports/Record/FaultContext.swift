internal import CRecordLayout

/// What was kept of a process at the time of a fault, as a spool file has it.
package struct FaultContext: Sendable, Hashable {
    /// Something that happened before the fault.
    package struct Event: Sendable, Hashable {
        /// When, in nanoseconds of the clock that no administrator sets.
        package var time: Int64
        /// What it is.
        package var kind: CrashReport.Breadcrumb.Kind
        /// What happened, in words.
        package var text: String
        /// The thread, as gettid(2) has it; 0 if it is not known.
        package var thread: Int
        /// How a note was logged.
        package var level: String?
        /// Which one it is: events of one thread, and notes, are numbered each from 1.
        package var number: UInt64
    }

    /// What the loop did, the oldest first.
    package var events: [Event]
    /// What was logged, resumed and delivered, the oldest first.
    package var notes: [Event]
    /// How many of both there were and are not here.
    package var lost: Int
    /// What the program said of its state.
    package var annotations: [String: String]
    /// Short values to tell reports apart by.
    package var tags: [String: String]
    /// What the process had; nil where it was not asked.
    package var system: SystemState?
}

extension FaultContext {
    /// Decodes a snapshot; nil where nothing was kept.
    ///
    /// - Parameter bytes: Any bytes.
    package init?(bytes: [UInt8]) {
        self.init(RecordBytes(bytes[...]))
    }

    init?(_ bytes: RecordBytes) {
        let snapshot = RecordView<HFSnapshot>(bytes)
        guard snapshot.isWhole, Int(snapshot.state) == HF_SNAPSHOT_KEPT else { return nil }
        let events = Self.events(
            snapshot.parts(\.events, of: HFLoopEvent.self, count: snapshot.clamped(\.event_count)),
            thread: Int(snapshot.event_thread)
        )
        let notes = Self.notes(snapshot.parts(\.notes, of: HFNote.self, count: snapshot.clamped(\.note_count)))
        let places = snapshot.numbers(\.value_index, of: UInt8.self).map { Int($0) }
        let values = Self.values(
            zip(places, snapshot.parts(\.values, of: HFValue.self, count: snapshot.clamped(\.value_count)))
        )
        let total = snapshot.events_total.addingReportingOverflow(snapshot.notes_total)
        self.init(
            events: events,
            notes: notes,
            lost: total.overflow ? 0 : max(0, Int(clamping: total.partialValue) - events.count - notes.count),
            annotations: values.annotations,
            tags: values.tags,
            system: SystemState(snapshot.part(\.system))
        )
    }

    /// Whether there is nothing to tell.
    var isEmpty: Bool { events.isEmpty && notes.isEmpty && annotations.isEmpty && tags.isEmpty && system == nil }

    /// Without what happened after a time of the same clock; the values are those of the end.
    func before(_ time: Int64) -> FaultContext {
        var context = self
        context.events.removeAll { $0.time > time }
        context.notes.removeAll { $0.time > time }
        return context
    }

    // MARK: Entries

    /// The events of a ring or of a snapshot, without those that were being written.
    static func events(_ entries: [RecordView<HFLoopEvent>], thread: Int) -> [Event] {
        entries.compactMap { entry -> Event? in
            guard entry.number > 0, let kind = Self.kind(ofEvent: entry.kind & 0xff) else { return nil }
            return Event(
                time: entry.time,
                kind: kind,
                text: kind == .sleep ? sleepText(entry) : label(entry),
                thread: thread,
                level: nil,
                number: entry.number
            )
        }.sorted { $0.number < $1.number }
    }

    private static func kind(ofEvent code: UInt32) -> CrashReport.Breadcrumb.Kind? {
        switch Int(code) {
        case HF_EVENT_ENTRY: .entry
        case HF_EVENT_EXIT: .exit
        case HF_EVENT_SLEEP: .sleep
        // The word for a callout is that for its kind.
        default: CrashReport.LoopState.Callout.Kind(ofRecord: code).map { .init(rawValue: $0.rawValue) }
        }
    }

    private static func label(_ entry: RecordView<HFLoopEvent>) -> String {
        guard Int(entry.kind) & HF_EVENT_SHORT_LABEL != 0 else { return text(entry, \.label) }
        return entry.storage.text(RecordView<HFLoopEvent>.offset(of: \.label), HF_EVENT_SHORT_LABEL_SIZE)
    }

    /// A text that may fill its field: then it was cut, perhaps inside a character.
    private static func text<Layout, Field>(_ entry: RecordView<Layout>, _ field: KeyPath<Layout, Field>) -> String {
        var text = entry.text(field)
        guard entry.isFilled(field) else { return text }
        if text.last == "\u{fffd}" { text.removeLast() }
        return text + "…"
    }

    /// How long a sleep took: the field of the label holds the nanoseconds.
    private static func sleepText(_ entry: RecordView<HFLoopEvent>) -> String {
        let nanoseconds = entry.storage.integer(RecordView<HFLoopEvent>.offset(of: \.label), as: UInt64.self)
        guard nanoseconds > 0 else { return "not over" }
        let microseconds = nanoseconds / 1000
        if microseconds < 1000 { return "\(microseconds) µs" }
        if microseconds < 1_000_000 { return "\(microseconds / 1000) ms" }
        let tenths = microseconds / 100_000
        return "\(tenths / 10).\(tenths % 10) s"
    }

    static let levels = ["trace", "debug", "info", "notice", "warning", "error", "critical"]

    /// The notes of the process or of a snapshot, without those that were being written.
    static func notes(_ entries: [RecordView<HFNote>]) -> [Event] {
        entries.compactMap { entry -> Event? in
            // HF_NOTE_BUSY is the greatest number.
            guard entry.number > 0, entry.number < .max else { return nil }
            let (code, detail) = (Int(entry.code), Int(entry.detail))
            var event = Event(
                time: entry.time,
                kind: .note,
                text: text(entry, \.text),
                thread: Int(entry.thread),
                level: nil,
                number: entry.number
            )
            switch Int(entry.kind) {
            case HF_NOTE_LOG:
                event.level = levels.indices.contains(code) ? levels[code] : nil
            case HF_NOTE_FAULT:
                event.kind = .fault
                event.text =
                    "\(SignalNames.signal(code)), fault \(detail)"
                    + (event.text.isEmpty ? "" : ", in \"\(event.text)\"")
            case HF_NOTE_SIGNAL:
                event.kind = .signal
                event.text = SignalNames.signal(code) + (detail > 0 ? " from pid \(detail)" : "")
            default: return nil
            }
            return event
        }.sorted { $0.number < $1.number }
    }

    /// Values by key, each with its place in the table of the process: annotations come before tags.
    static func values(
        _ entries: some Sequence<(Int, RecordView<HFValue>)>
    ) -> (annotations: [String: String], tags: [String: String]) {
        var values: (annotations: [String: String], tags: [String: String]) = ([:], [:])
        for (place, entry) in entries {
            guard entry.version > 0, entry.version % 2 == 0 else { continue }
            if place < HF_ANNOTATION_COUNT {
                values.annotations[entry.text(\.key)] = entry.text(\.text)
            } else {
                values.tags[entry.text(\.key)] = entry.text(\.text)
            }
        }
        return values
    }
}

/// What a process and its machine had at the time of a fault; nil where it could not be asked.
package struct SystemState: Sendable, Hashable {
    /// The memory of the process and of the machine.
    package var memory: CrashReport.Context.Memory?
    /// The load averages of 1, 5 and 15 minutes.
    package var load: [Double]?
    /// How many descriptors were open.
    package var openDescriptors: Int?
    /// How many threads there were.
    package var threadCount: Int?
    /// The limits, by their names in `/proc/PID/limits`.
    package var limits: [String: CrashReport.Context.Limit]

    /// In the order of their numbers (asm-generic/resource.h); the names are those of fs/proc/base.c, lnames.
    static let limitNames = [
        "Max cpu time", "Max file size", "Max data size", "Max stack size", "Max core file size", "Max resident set",
        "Max processes", "Max open files", "Max locked memory", "Max address space", "Max file locks",
        "Max pending signals", "Max msgqueue size", "Max nice priority", "Max realtime priority",
        "Max realtime timeout",
    ]

    /// The limit of open descriptors.
    package var descriptorLimit: Int? { limits[Self.limitNames[7]]?.soft }

    /// Nil where nothing could be asked.
    init?(_ state: RecordView<HFSystemState>) {
        let known = Int(state.known)
        guard known != 0 else { return nil }
        func has(_ what: Int) -> Bool { known & what != 0 }
        func size(_ bytes: UInt64) -> Int { Int(clamping: bytes) }
        let hasMachine = has(HF_KNOWN_MACHINE_MEMORY)
        memory =
            has(HF_KNOWN_MEMORY)
            ? CrashReport.Context.Memory(
                resident: size(state.resident),
                peakResident: has(HF_KNOWN_PEAK) ? size(state.peak_resident) : nil,
                virtual: size(state.virtual_size),
                systemTotal: hasMachine ? size(state.machine_total) : nil,
                systemAvailable: hasMachine ? size(state.machine_available) : nil
            ) : nil
        threadCount = has(HF_KNOWN_THREADS) ? Int(state.threads) : nil
        load = has(HF_KNOWN_LOAD) ? state.numbers(\.load, of: UInt32.self).map { Double($0) / 100 } : nil
        openDescriptors = has(HF_KNOWN_DESCRIPTORS) ? Int(state.descriptors) : nil
        limits = [:]
        guard has(HF_KNOWN_LIMITS) else { return }
        // The soft and the hard limit of each resource in turn.
        let values = state.numbers(\.limits, of: UInt64.self).map { $0 == .max ? nil : Int(clamping: $0) }
        for (index, name) in Self.limitNames.enumerated() {
            limits[name] = CrashReport.Context.Limit(soft: values[2 * index], hard: values[2 * index + 1])
        }
    }
}
