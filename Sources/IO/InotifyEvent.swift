internal import Glibc
internal import SystemPackage

/// One event as read(2) gives it: inotify(7).
struct InotifyEvent: Equatable {
    /// The watch; -1 for an overflow.
    let watch: CInt
    /// What happened.
    let mask: UInt32
    /// To what in the watched directory; nil for the directory itself.
    let name: FilePath.Component?

    /// Takes the events apart; what is cut off at the end is left out.
    static func decode(_ bytes: UnsafeRawBufferPointer) -> [InotifyEvent] {
        // wd, mask, cookie and len, four bytes each; then len bytes of name, padded with zeros.
        let header = 16
        var (events, place) = ([InotifyEvent](), 0)
        while place + header <= bytes.count {
            let length = Int(unsafe bytes.loadUnaligned(fromByteOffset: place + 12, as: UInt32.self))
            guard length <= bytes.count - place - header else { break }
            let field = unsafe bytes[(place + header)..<(place + header + length)].prefix { $0 != 0 }
            let text = unsafe field.map { CChar(bitPattern: $0) } + [0]
            let name = unsafe text.withUnsafeBufferPointer { text in
                unsafe text.baseAddress.flatMap { unsafe FilePath(platformString: $0).lastComponent }
            }
            events.append(
                InotifyEvent(
                    watch: unsafe bytes.loadUnaligned(fromByteOffset: place, as: CInt.self),
                    mask: unsafe bytes.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self),
                    name: name
                )
            )
            place += header + length
        }
        return events
    }
}
