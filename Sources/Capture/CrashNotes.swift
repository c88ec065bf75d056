internal import CCrashCapture
internal import Glibc

/// What the program, and Holdfast itself, leave for the report of the next fault.
///
/// Everything goes into the spool file's memory, which outlives the process and is read at a fault without a lock. Nothing is kept before
/// `CrashCapture` is installed, nor in a forked child.
package enum CrashNotes {
    /// The kinds of values.
    package enum Table: Sendable {
        /// What the program says of its state.
        case annotations
        /// Short values by which reports are told apart.
        case tags

        /// How many there may be.
        package var capacity: Int {
            self == .tags ? Int(HF_TAG_COUNT) : Int(HF_ANNOTATION_COUNT)
        }
    }

    /// The size of a note in bytes of UTF-8; the rest is cut.
    package static var noteSize: Int { Int(HF_NOTE_TEXT_SIZE) }
    /// The size of a key in bytes of UTF-8; the rest is cut.
    package static var keySize: Int { Int(HF_VALUE_KEY_SIZE) }
    /// The size of a value in bytes of UTF-8; the rest is cut.
    package static var valueSize: Int { Int(HF_VALUE_TEXT_SIZE) }

    /// Adds a line that the program logged.
    ///
    /// Takes no lock, and makes no system call but those for time and thread. Callable from any thread.
    ///
    /// - Parameters:
    ///   - text: The line.
    ///   - level: How it was logged, from 0 for trace to 6 for critical.
    /// - Returns: Whether it was kept.
    @discardableResult
    package static func addNote(_ text: String, level: Int) -> Bool {
        unsafe withBytes(text, limit: noteSize) { bytes in
            guard let start = bytes.baseAddress else { return false }
            return unsafe hf_async_add_note(UInt32(HF_NOTE_LOG), Int32(clamping: level), 0, start, bytes.count)
        }
    }

    /// Adds that a signal was delivered.
    package static func addSignal(_ signal: CInt, from sender: CInt) {
        _ = unsafe hf_async_add_note(UInt32(HF_NOTE_SIGNAL), signal, sender, "", 0)
    }

    /// Adds that a fault is resumed.
    ///
    /// Called on the crash thread: allocates nothing.
    static func addFault(_ record: UnsafeMutablePointer<HFRecord>) {
        let label = unsafe UnsafeRawPointer(record)
            .advanced(by: MemoryLayout<HFRecord>.offset(of: \.label) ?? 0)
            .assumingMemoryBound(to: CChar.self)
        let length = unsafe strnlen(label, Int(HF_LABEL_SIZE))
        let number = unsafe Int32(truncatingIfNeeded: record.pointee.number)
        _ = unsafe hf_async_add_note(UInt32(HF_NOTE_FAULT), record.pointee.signal, number, label, length)
    }

    /// Sets a value, or removes it.
    ///
    /// Callable from any thread, but not in a signal handler. A fault inside is never resumed.
    ///
    /// - Parameters:
    ///   - value: The value, cut at `valueSize`; nil removes it.
    ///   - key: The key, cut at `keySize`; an empty one is none.
    ///   - table: The kind of value.
    /// - Returns: Whether it was kept: false if the table is full, or if nothing is kept.
    @discardableResult
    package static func set(_ value: String?, for key: String, in table: Table) -> Bool {
        guard !key.isEmpty else { return false }
        return unsafe withBytes(key, limit: keySize) { key in
            guard let keyStart = key.baseAddress else { return false }
            guard let value else {
                return unsafe hf_context_set_value(table == .tags, keyStart, key.count, nil, 0)
            }
            return unsafe withBytes(value, limit: valueSize) { bytes in
                // An empty text has no address, but it is a value.
                guard let start = bytes.baseAddress else {
                    return unsafe hf_context_set_value(table == .tags, keyStart, key.count, keyStart, 0)
                }
                return unsafe hf_context_set_value(table == .tags, keyStart, key.count, start, bytes.count)
            }
        }
    }

    /// The value of a key, cut as it was kept.
    package static func value(for key: String, in table: Table) -> String? {
        guard !key.isEmpty else { return nil }
        return unsafe withBytes(key, limit: keySize) { key in
            guard let keyStart = key.baseAddress else { return nil }
            var bytes = [CChar](repeating: 0, count: valueSize)
            let length = unsafe hf_context_value(table == .tags, keyStart, key.count, &bytes)
            guard length >= 0 else { return nil }
            return String(decoding: bytes.prefix(Int(length)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }

    /// The UTF-8 of a text, cut between two characters if it is longer than its field.
    private static func withBytes<Result>(
        _ text: String,
        limit: Int,
        _ body: (UnsafeBufferPointer<CChar>) -> Result
    ) -> Result {
        var text = text
        return text.withUTF8 { utf8 in
            var count = min(utf8.count, limit)
            // 10xxxxxx continues a character.
            while count > 0, count < utf8.count, unsafe utf8[count] & 0xc0 == 0x80 { count -= 1 }
            // A NUL would end the field.
            if let end = unsafe utf8.prefix(count).firstIndex(of: 0) { count = end }
            return unsafe UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(utf8)[..<count])
                .withMemoryRebound(to: CChar.self, body)
        }
    }
}
