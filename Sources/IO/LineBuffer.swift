/// Splits a stream of bytes into lines, however they arrive, and refuses over-long ones without keeping them.
///
/// Lines are taken one by one, so that whoever cannot answer now leaves the rest where it is.
struct LineBuffer: Equatable, Sendable {
    /// What was found in the stream.
    enum Event: Equatable {
        case line(String)
        /// A line of more than `limit` bytes; it is skipped to its end.
        case tooLong
    }

    /// The longest line, in bytes.
    var limit = Connection.Limits().line
    private var bytes: [UInt8] = []
    /// Bytes before this one were taken.
    private var start = 0
    /// Bytes before this one hold no end of a line.
    private var searched = 0
    /// Whether an over-long line has begun and not ended.
    private(set) var isSkipping = false

    init() {}

    /// Goes on where another one stopped.
    init(rest: some Collection<UInt8>, isSkipping: Bool) {
        bytes = Array(rest)
        self.isSkipping = isSkipping
    }

    /// What was not taken.
    var rest: ArraySlice<UInt8> { bytes[start...] }

    /// Whether the next byte begins a line.
    var isEmpty: Bool { rest.isEmpty && !isSkipping }

    /// Takes the next bytes of the stream.
    mutating func append(_ piece: some Collection<UInt8>) {
        if start > 0 {
            bytes.removeFirst(start)
            searched -= start
            start = 0
        }
        bytes += piece
    }

    /// Takes everything.
    mutating func takeAll() -> [UInt8] {
        let all = Array(rest)
        drop(to: bytes.count)
        return all
    }

    /// Takes the next line, nil if there is no whole one.
    mutating func next() -> Event? {
        while true {
            guard let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
                searched = bytes.count
                guard !isSkipping else {
                    drop(to: bytes.count)
                    return nil
                }
                guard Self.withoutReturn(bytes[start...]).count > limit else { return nil }
                isSkipping = true
                drop(to: bytes.count)
                return .tooLong
            }
            let line = Self.withoutReturn(bytes[start..<end])
            let wasSkipping = isSkipping
            isSkipping = false
            drop(to: end + 1)
            if wasSkipping { continue }
            return line.count > limit ? .tooLong : .line(String(decoding: line, as: UTF8.self))
        }
    }

    private mutating func drop(to end: Int) {
        start = end
        searched = end
        guard start == bytes.count else { return }
        bytes.removeAll(keepingCapacity: true)
        start = 0
        searched = 0
    }

    private static func withoutReturn(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        line.last == UInt8(ascii: "\r") ? line.dropLast() : line
    }
}
