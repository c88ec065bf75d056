import CRecoveryPoint
import Glibc
import Synchronization

/// The label of an item, in a form that a signal handler can read while its callout runs.
///
/// Labels of up to fifteen bytes need no memory of their own: a callout copies them into its `HFCalloutInfo`. This saves one
/// allocation when a timer is made and freed.
@safe
struct ItemName: ~Copyable, @unchecked Sendable {
    /// A short label with its NUL, in memory order.
    private let bytes: (UInt64, UInt64)
    /// A longer label, NUL-terminated; never written after `init`.
    private let copy: UnsafeMutablePointer<CChar>?

    init(_ text: String) {
        // A string that lies in its own two words is what is wanted, but for the last byte, which has the length.
        let words = unsafe unsafeBitCast(text, to: (UInt64, UInt64).self)
        guard words.1 & Self.smallString == 0 else {
            bytes = (words.0, words.1 & (1 << 56 - 1))
            unsafe copy = nil
            return
        }
        unsafe (bytes, copy) = Self.copied(text)
    }

    /// Set in the second word of a string that needs no memory (`_StringObject` in the standard library).
    private static var smallString: UInt64 { 1 << 61 }

    @inline(never)
    private static func copied(_ text: String) -> (bytes: (UInt64, UInt64), copy: UnsafeMutablePointer<CChar>?) {
        var text = text
        var bytes: (UInt64, UInt64) = (0, 0)
        let copy = text.withUTF8 { utf8 -> UnsafeMutablePointer<CChar>? in
            guard let source = utf8.baseAddress else { return nil }
            guard utf8.count >= MemoryLayout.size(ofValue: bytes) else {
                unsafe withUnsafeMutableBytes(of: &bytes) { unsafe $0.copyMemory(from: UnsafeRawBufferPointer(utf8)) }
                return nil
            }
            // A loop event copies this many bytes, whatever the length of the label.
            let size = max(utf8.count + 1, Int(HF_EVENT_LABEL_SIZE))
            guard let copy = unsafe calloc(size, 1)?.assumingMemoryBound(to: CChar.self) else {
                preconditionFailure("out of memory for the label of a run loop item")
            }
            unsafe memcpy(copy, source, utf8.count)
            return unsafe copy
        }
        return unsafe (bytes, copy)
    }

    deinit {
        if let copy = unsafe copy {
            unsafe free(copy)
        }
    }

    /// Puts the label into the description of a callout; it stays valid as long as both the name and the description exist.
    @inline(__always)
    func describe(_ info: UnsafeMutablePointer<HFCalloutInfo>) {
        if let copy = unsafe copy {
            unsafe info.pointee.label = UnsafePointer(copy)
        } else {
            unsafe info.pointee.short_label = bytes
            unsafe info.pointee.label = UnsafeRawPointer(info)
                .advanced(by: MemoryLayout<HFCalloutInfo>.offset(of: \.short_label) ?? 0)
                .assumingMemoryBound(to: CChar.self)
        }
    }

    var text: String {
        if let copy = unsafe copy { return unsafe String(cString: copy) }
        return unsafe withUnsafeBytes(of: bytes) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

/// A NUL-terminated name at a fixed address, which a signal handler can read.
@safe
struct CName: @unchecked Sendable {
    let pointer: UnsafePointer<CChar>

    /// The addresses of the names that are never freed, by text.
    private static let interned = Mutex<[String: UInt]>([:])

    /// Returns the one permanent name with this text.
    ///
    /// It is never freed, because a crash report may still point to it.
    static func interned(_ text: String) -> CName {
        let address = interned.withLock { names in
            if let address = names[text] { return address }
            let address = unsafe UInt(bitPattern: copy(text))
            names[text] = address
            return address
        }
        guard let pointer = unsafe UnsafePointer<CChar>(bitPattern: address) else {
            preconditionFailure("an interned name has no address")
        }
        return unsafe CName(pointer: pointer)
    }

    /// Returns a copy that the caller must free.
    static func copy(_ text: String) -> UnsafePointer<CChar> {
        guard let copy = unsafe strdup(text) else {
            preconditionFailure("out of memory for the name of a run loop item")
        }
        return unsafe UnsafePointer(copy)
    }

    /// Frees a copy.
    static func free(_ copy: UnsafePointer<CChar>) {
        unsafe Glibc.free(UnsafeMutablePointer(mutating: copy))
    }
}
