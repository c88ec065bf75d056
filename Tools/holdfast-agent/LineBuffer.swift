/// Splits a stream of bytes into lines, however they arrive, and refuses over-long ones without keeping them.
struct LineBuffer {
    /// What was found in the stream.
    enum Event: Equatable {
        case line(String)
        /// A line of more than `limit` bytes; it is skipped to its end.
        case tooLong
    }

    /// The longest line, in bytes.
    static let limit = 8192

    private var bytes: [UInt8] = []
    private var isSkipping = false

    /// Takes the next bytes and returns what they complete.
    mutating func append(_ piece: some RandomAccessCollection<UInt8>) -> [Event] {
        var events: [Event] = []
        var rest = piece[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let part = rest[..<end]
            rest = rest[rest.index(after: end)...]
            if isSkipping {
                isSkipping = false
            } else if bytes.count + part.count > Self.limit {
                events.append(.tooLong)
            } else {
                events.append(.line(Self.text(bytes + part)))
            }
            bytes.removeAll(keepingCapacity: true)
        }
        if !isSkipping {
            bytes += rest
            if bytes.count > Self.limit {
                events.append(.tooLong)
                bytes.removeAll()
                isSkipping = true
            }
        }
        return events
    }

    private static func text(_ line: [UInt8]) -> String {
        String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line[...], as: UTF8.self)
    }
}
