/// What a connection has in this process alone: what the next one must have to go on with it.
///
/// As bytes: a version, whether an over-long line is being skipped, the length of the output in four bytes with the lowest first, the
/// output, and the input to the end. A connection that waits for its next request has none.
struct ConnectionState: Equatable {
    /// What was read and not answered: an unfinished line, or whole ones behind answers that the peer does not take.
    var input = LineBuffer()
    /// Answers that were not written.
    var output: [UInt8] = []

    private static let version: UInt8 = 1
    private static let headerSize = 6

    /// The state of a connection that waits for its next request.
    init() {}

    init(input: LineBuffer, output: some Collection<UInt8>) {
        self.input = input
        self.output = Array(output)
    }

    /// Reads it; nil if it is not understood, as when another version of the program wrote it.
    init?(bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        guard bytes.count >= Self.headerSize, bytes[0] == Self.version, bytes[1] <= 1 else { return nil }
        let count = bytes[2..<Self.headerSize].reversed().reduce(0) { $0 << 8 | Int($1) }
        let rest = bytes[Self.headerSize...]
        guard count <= rest.count else { return nil }
        output = Array(rest.prefix(count))
        input = LineBuffer(rest: rest.dropFirst(count), isSkipping: bytes[1] == 1)
    }

    var isEmpty: Bool { input.isEmpty && output.isEmpty }

    var bytes: [UInt8] {
        guard !isEmpty else { return [] }
        let count = UInt32(output.count)
        let length = (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
        return [Self.version, input.isSkipping ? 1 : 0] + length + output + input.rest
    }
}
