/// What a connection has in this process alone: what the next one must have to go on with it.
///
/// As bytes: a version, flags, the lengths of the output and of the program's state in four bytes each with the lowest first, the output,
/// the program's state, and the input to the end. A connection that waits for its next request, and has no state of the program's, has
/// none.
struct ConnectionState: Equatable, Sendable {
    /// What was read and not served: an unfinished line, or whole ones behind answers that the peer does not take.
    var input = LineBuffer()
    /// What was sent and not written.
    var output: [UInt8] = []
    /// The program's own.
    var program: [UInt8] = []
    /// What is to come, or to be known, when the output is written.
    var marks: Marks = []

    /// Marks of a connection, as bits of its flags.
    struct Marks: OptionSet, Sendable {
        let rawValue: UInt8

        /// It is closed when the output is written.
        static let closesWhenSent = Marks(rawValue: 2)
        /// The peer is told then that no more will come.
        static let endsWhenSent = Marks(rawValue: 4)
        /// A task has taken a line, and has not asked for the next one: its answer is lost with the process.
        static let isServed = Marks(rawValue: 8)
        /// All of them.
        fileprivate static let all: Marks = [.closesWhenSent, .endsWhenSent, .isServed]
    }

    private static let version: UInt8 = 1
    private static let headerSize = 10

    /// The state of a connection that waits for its next request.
    init() {}

    init(input: LineBuffer, output: some Collection<UInt8>, program: [UInt8], marks: Marks = []) {
        self.input = input
        self.output = Array(output)
        self.program = program
        self.marks = marks
    }

    /// Reads it; nil if it is not understood, as when another version of the program wrote it.
    init?(bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        guard bytes.count >= Self.headerSize, bytes[0] == Self.version, bytes[1] <= Marks.all.rawValue | 1
        else { return nil }
        let outputCount = Self.count(bytes[2..<6])
        let programCount = Self.count(bytes[6..<10])
        var rest = bytes[Self.headerSize...]
        guard outputCount + programCount <= rest.count else { return nil }
        output = Array(rest.prefix(outputCount))
        rest = rest.dropFirst(outputCount)
        program = Array(rest.prefix(programCount))
        input = LineBuffer(rest: rest.dropFirst(programCount), isSkipping: bytes[1] & 1 == 1)
        marks = Marks(rawValue: bytes[1]).intersection(.all)
    }

    var isEmpty: Bool { input.isEmpty && output.isEmpty && program.isEmpty && marks.isEmpty }

    var bytes: [UInt8] {
        guard !isEmpty else { return [] }
        let flags = (input.isSkipping ? 1 : 0) | marks.rawValue
        return [Self.version, flags] + Self.bytes(output.count) + Self.bytes(program.count) + output + program
            + input.rest
    }

    private static func count(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reversed().reduce(0) { $0 << 8 | Int($1) } }

    private static func bytes(_ count: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) } }
}
