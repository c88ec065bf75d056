import CCrashCapture
import CRecoveryPoint

/// A spool file with a context section, laid out by the C code and filled in by hand.
struct SampleContext {
    var bytes: [UInt8]
    let section: Int

    /// Puts a section behind a spool file.
    init(
        _ spool: [UInt8],
        environment: [String] = [],
        rules: [String] = [],
        flags: UInt32 = UInt32(HF_REDACTION_BUILT_IN)
    ) {
        section = (spool.count + 63) & ~63
        bytes = spool + [UInt8](repeating: 0, count: section - spool.count + hf_context_section_size())
        let offset = section
        bytes.withUnsafeMutableBytes { bytes in
            guard let header = bytes.baseAddress?.assumingMemoryBound(to: HFSpoolHeader.self) else { return }
            header.pointee.context_offset = UInt32(offset)
            header.pointee.context_size = UInt32(hf_context_section_size())
            hf_context_lay_out(header)
            let variables = environment.flatMap { Array($0.utf8CString) }
            let lines = rules.flatMap { Array($0.utf8CString) }
            hf_context_describe(header, variables, variables.count, lines, lines.count, flags)
        }
    }

    private func number(_ offset: Int) -> Int {
        Int(bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: section + offset, as: UInt32.self) })
    }

    mutating func put<T: BitwiseCopyable>(_ value: T, at offset: Int) {
        bytes.withUnsafeMutableBytes { $0.storeBytes(of: value, toByteOffset: section + offset, as: T.self) }
    }

    /// Where the snapshot at an index begins, from the start of the section.
    func snapshot(_ index: Int) -> Int { number(48) + index * number(52) }

    /// Makes a snapshot of a fault.
    mutating func addSnapshot(_ index: Int, fault: Int, state: Int = Int(HF_SNAPSHOT_KEPT)) {
        put(UInt32(state), at: snapshot(index))
        put(UInt32(fault), at: snapshot(index) + 4)
    }

    /// Adds an event to a snapshot.
    mutating func addEvent(_ index: Int, to snapshot: Int, number: UInt64, time: Int64, kind: Int, label: String) {
        var event = HFLoopEvent()
        event.number = number
        event.time = time
        event.kind = UInt32(kind)
        withUnsafeMutableBytes(of: &event.label) { $0.copyBytes(from: label.utf8.prefix($0.count)) }
        put(event, at: self.snapshot(snapshot) + 384 + 64 * index)
        put(UInt32(index + 1), at: self.snapshot(snapshot) + 20)
    }

    /// The ring at an index of the table that lives on.
    mutating func addLiveEvent(_ index: Int, thread: Int, number: UInt64, time: Int64, label: String) {
        var event = HFLoopEvent()
        event.number = number
        event.time = time
        event.kind = 5
        withUnsafeMutableBytes(of: &event.label) { $0.copyBytes(from: label.utf8.prefix($0.count)) }
        put(Int32(thread), at: number32(4) + 4)
        put(number, at: number32(4) + 8)
        put(event, at: number32(4) + 64 + 64 * index)
    }

    private func number32(_ offset: Int) -> Int { number(offset) }

    /// Adds a note to the table that lives on.
    mutating func addLiveNote(
        _ index: Int,
        number: UInt64,
        time: Int64,
        text: String,
        code: Int = 2,
        kind: Int = Int(HF_NOTE_LOG)
    ) {
        put(
            Self.note(number: number, time: time, kind: kind, code: code, detail: 7, text: text),
            at: self.number(20) + 256 * index
        )
    }

    /// Adds a note to a snapshot.
    mutating func addNote(_ index: Int, to snapshot: Int, number: UInt64, kind: Int, code: Int, text: String) {
        let note = Self.note(number: number, time: 5, kind: kind, code: code, detail: 7, text: text)
        put(note, at: self.snapshot(snapshot) + 8576 + 256 * index)
        put(UInt32(index + 1), at: self.snapshot(snapshot) + 32)
    }

    private static func note(number: UInt64, time: Int64, kind: Int, code: Int, detail: Int, text: String) -> HFNote {
        var note = HFNote()
        note.number = number
        note.time = time
        note.kind = UInt32(kind)
        note.code = Int32(code)
        note.detail = Int32(detail)
        note.thread = 99
        withUnsafeMutableBytes(of: &note.text) { $0.copyBytes(from: text.utf8.prefix($0.count)) }
        return note
    }

    /// Adds a value to a snapshot; `place` is its index in the table of the process.
    mutating func addValue(_ index: Int, to snapshot: Int, place: Int, version: UInt64, key: String, text: String) {
        var value = HFValue()
        value.version = version
        withUnsafeMutableBytes(of: &value.key) { $0.copyBytes(from: key.utf8) }
        withUnsafeMutableBytes(of: &value.text) { $0.copyBytes(from: text.utf8) }
        put(value, at: self.snapshot(snapshot) + 24960 + 256 * index)
        put(UInt8(place), at: self.snapshot(snapshot) + 37248 + index)
        put(UInt32(index + 1), at: self.snapshot(snapshot) + 36)
    }
}
