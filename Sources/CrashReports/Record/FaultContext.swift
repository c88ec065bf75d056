/// What was kept of a process at the time of a fault, as a spool file has it.
public struct FaultContext: Sendable, Hashable {
    /// Something that happened before the fault.
    public struct Event: Sendable, Hashable {
        /// When, in nanoseconds of the clock that no administrator sets.
        public var time: Int64
        /// What it is.
        public var kind: CrashReport.Breadcrumb.Kind
        /// What happened, in words.
        public var text: String
        /// The thread, as gettid(2) has it; 0 if it is not known.
        public var thread: Int
        /// How a note was logged.
        public var level: String?
        /// Which one it is: events of one thread, and notes, are numbered each from 1.
        public var number: UInt64
    }

    /// The number of the fault.
    public var fault: Int
    /// What the loop did, the oldest first.
    public var events: [Event]
    /// What was logged, resumed and delivered, the oldest first.
    public var notes: [Event]
    /// How many of both there were and are not here.
    public var lost: Int
    /// What the program said of its state.
    public var annotations: [String: String]
    /// Short values to tell reports apart by.
    public var tags: [String: String]
    /// What the process had; nil where it was not asked.
    public var system: SystemState?

    /// How many bytes a snapshot has at least.
    static let size = 37296

    init(
        fault: Int,
        events: [Event],
        notes: [Event],
        lost: Int,
        annotations: [String: String],
        tags: [String: String],
        system: SystemState? = nil
    ) {
        self.fault = fault
        self.events = events
        self.notes = notes
        self.lost = lost
        self.annotations = annotations
        self.tags = tags
        self.system = system
    }

    /// Decodes a snapshot; nil where nothing was kept.
    ///
    /// - Parameter bytes: Any bytes.
    public init?(bytes: [UInt8]) {
        self.init(RecordBytes(bytes[...]))
    }

    init?(_ bytes: RecordBytes) {
        let state = bytes.integer(0, as: UInt32.self)
        guard bytes.count >= Self.size, state == 2 else { return nil }
        func count(_ offset: Int, atMost most: Int) -> Int { min(Int(bytes.integer(offset, as: UInt32.self)), most) }
        let eventCount = count(20, atMost: 128)
        let noteCount = count(32, atMost: 64)
        let events = Self.events(bytes, at: 384, count: eventCount, thread: Int(bytes.integer(16, as: Int32.self)))
        let notes = Self.notes(bytes, at: 8576, count: noteCount)
        let values = Self.values(bytes, at: 24960, count: count(36, atMost: 48)) {
            Int(bytes.integer(37248 + $0, as: UInt8.self))
        }
        let total = bytes.integer(24, as: UInt64.self).addingReportingOverflow(bytes.integer(40, as: UInt64.self))
        self.init(
            fault: Int(bytes.integer(4, as: UInt32.self)),
            events: events,
            notes: notes,
            lost: total.overflow ? 0 : max(0, Int(clamping: total.partialValue) - events.count - notes.count),
            annotations: values.annotations,
            tags: values.tags,
            system: SystemState(bytes.slice(64, 320))
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
    static func events(_ bytes: RecordBytes, at offset: Int, count: Int, thread: Int) -> [Event] {
        (0..<count).compactMap { index -> Event? in
            let entry = bytes.slice(offset + index * 64, 64)
            let number = entry.integer(0, as: UInt64.self)
            let code = entry.integer(16, as: UInt32.self)
            guard number > 0, let kind = Self.kind(ofEvent: code & 0xff) else { return nil }
            let text =
                kind == .sleep
                ? sleepText(entry.integer(24, as: UInt64.self)) : label(entry, isShort: code & 1 << 8 != 0)
            return Event(time: entry.integer(8), kind: kind, text: text, thread: thread, level: nil, number: number)
        }.sorted { $0.number < $1.number }
    }

    private static func kind(ofEvent code: UInt32) -> CrashReport.Breadcrumb.Kind? {
        switch code {
        case 1: .source
        case 2: .port
        case 3: .timer
        case 4: .observer
        case 5: .block
        case 6: .mainQueue
        case 16: .entry
        case 17: .exit
        case 18: .sleep
        default: nil
        }
    }

    private static func label(_ entry: RecordBytes, isShort: Bool) -> String {
        isShort ? entry.text(24, 16) : text(entry, 24, 40)
    }

    /// A text that may fill its field: then it was cut, perhaps inside a character.
    private static func text(_ entry: RecordBytes, _ offset: Int, _ size: Int) -> String {
        var text = entry.text(offset, size)
        guard entry.integer(offset + size - 1, as: UInt8.self) != 0 else { return text }
        if text.last == "\u{fffd}" { text.removeLast() }
        return text + "…"
    }

    private static func sleepText(_ nanoseconds: UInt64) -> String {
        guard nanoseconds > 0 else { return "not over" }
        let microseconds = nanoseconds / 1000
        if microseconds < 1000 { return "\(microseconds) µs" }
        if microseconds < 1_000_000 { return "\(microseconds / 1000) ms" }
        let tenths = microseconds / 100_000
        return "\(tenths / 10).\(tenths % 10) s"
    }

    static let levels = ["trace", "debug", "info", "notice", "warning", "error", "critical"]

    /// The notes of the process or of a snapshot, without those that were being written.
    static func notes(_ bytes: RecordBytes, at offset: Int, count: Int) -> [Event] {
        (0..<count).compactMap { index -> Event? in
            let entry = bytes.slice(offset + index * 256, 256)
            let number = entry.integer(0, as: UInt64.self)
            guard number > 0, number < .max else { return nil }
            let code = Int(entry.integer(24, as: Int32.self))
            let detail = Int(entry.integer(28, as: Int32.self))
            var event = Event(
                time: entry.integer(8),
                kind: .note,
                text: text(entry, 32, 224),
                thread: Int(entry.integer(20, as: Int32.self)),
                level: nil,
                number: number
            )
            switch entry.integer(16, as: UInt32.self) {
            case 1:
                event.level = levels.indices.contains(code) ? levels[code] : nil
            case 2:
                event.kind = .fault
                event.text =
                    "\(SignalNames.signal(code)), fault \(detail)"
                    + (event.text.isEmpty ? "" : ", in \"\(event.text)\"")
            case 3:
                event.kind = .signal
                event.text = SignalNames.signal(code) + (detail > 0 ? " from pid \(detail)" : "")
            default: return nil
            }
            return event
        }.sorted { $0.number < $1.number }
    }

    /// Values by key; `place` says which place in the table of the process an entry has.
    static func values(
        _ bytes: RecordBytes,
        at offset: Int,
        count: Int,
        _ place: (Int) -> Int
    ) -> (annotations: [String: String], tags: [String: String]) {
        var values: (annotations: [String: String], tags: [String: String]) = ([:], [:])
        for index in 0..<count {
            let entry = bytes.slice(offset + index * 256, 256)
            let version = entry.integer(0, as: UInt64.self)
            // Odd: it was being written.
            guard version > 0, version % 2 == 0 else { continue }
            let key = entry.text(8, 40)
            if place(index) < 32 {
                values.annotations[key] = entry.text(48, 208)
            } else {
                values.tags[key] = entry.text(48, 208)
            }
        }
        return values
    }
}
