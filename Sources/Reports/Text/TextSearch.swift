internal import Glibc

/// Looking for a text in another one, byte by byte.
///
/// The search of the standard library compares characters and makes tables for each pattern: a fifth of the processor time that a fault
/// took was spent there (measured). What is looked for here is ASCII.
extension StringProtocol {
    /// Where a text stands first; nil if it does not, or is empty.
    func firstPlace(of text: String) -> Range<Index>? {
        guard let offset = firstOffset(of: text) else { return nil }
        let start = utf8.index(startIndex, offsetBy: offset)
        return start..<utf8.index(start, offsetBy: text.utf8.count)
    }

    /// Where a text stands last; nil if it does not, or is empty.
    func lastPlace(of text: String) -> Range<Index>? {
        var last: Range<Index>?
        var rest = self[...]
        while let place = rest.firstPlace(of: text) {
            last = place
            rest = self[utf8.index(after: place.lowerBound)...]
        }
        return last
    }

    /// Whether a text that is not empty stands in it.
    func holds(_ text: String) -> Bool { firstOffset(of: text) != nil }

    /// The offset of a text in bytes of UTF-8.
    private func firstOffset(of text: String) -> Int? {
        guard !text.isEmpty else { return nil }
        var text = text
        let found: Int?? = text.withUTF8 { wanted in
            utf8.withContiguousStorageIfAvailable { unsafe $0.firstOffset(of: wanted) }
        }
        // A string of this platform has its bytes in one piece.
        return found ?? String(self).firstOffset(of: text)
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Where bytes stand first; `bytes` has at least one.
    fileprivate func firstOffset(of bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        guard let start = baseAddress, let wanted = bytes.baseAddress else { return nil }
        var place = 0
        while count - place >= bytes.count {
            let room = count - place - bytes.count + 1
            guard let first = unsafe memchr(start + place, CInt(wanted.pointee), room) else { return nil }
            place = unsafe UnsafeRawPointer(first) - UnsafeRawPointer(start)
            if unsafe memcmp(start + place, wanted, bytes.count) == 0 { return place }
            place += 1
        }
        return nil
    }
}
