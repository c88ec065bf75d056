import Glibc
import RunLoops
import SystemPackage

/// One connection: lines in, answers out, with a bound on what waits for a slow reader.
@MainActor
final class Client {
    /// Above this many waiting bytes no more requests are read.
    static let highWater = 64 * 1024

    /// What is read goes here first, for all clients, and for ever: what a callout allocates for itself is lost when it faults
    /// (measured: 16 KiB more for each of 10,000 faults).
    private static let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 16 * 1024)

    /// Which one it is.
    let number: Int
    private let descriptor: CInt
    private let mark: ServiceMark?
    private let answer: @MainActor (String) -> String
    private let changed: @MainActor (Client, ConnectionState) -> Void
    private let closing: @MainActor (Client) -> Void
    private(set) var source: HostRunLoop.PortSource?
    private var input: LineBuffer
    private var output: [UInt8]
    private var written = 0
    /// Whether the input may hold another whole line.
    private var hasLines: Bool
    private var atEnd = false
    /// Whether bytes came or went since `changed` was called.
    private var hasMoved = false
    /// Whether the state that was told last is not empty.
    private var hasState: Bool

    /// Takes over a connection.
    ///
    /// - Parameters:
    ///   - descriptor: A nonblocking socket.
    ///   - number: Which one it is: "client 1" in reports for 1.
    ///   - mark: Where to note that it is being served.
    ///   - state: What an earlier process left of it.
    ///   - answer: Gives the answer to a line.
    ///   - changed: Called with what another process would have to know, when that has changed: for most requests it has not.
    ///   - closing: Called once, before the connection is closed.
    init(
        descriptor: CInt,
        number: Int,
        mark: ServiceMark? = nil,
        state: ConnectionState = ConnectionState(),
        answer: @escaping @MainActor (String) -> String,
        changed: @escaping @MainActor (Client, ConnectionState) -> Void = { _, _ in },
        closing: @escaping @MainActor (Client) -> Void
    ) {
        self.descriptor = descriptor
        self.number = number
        self.mark = mark
        self.answer = answer
        self.changed = changed
        self.closing = closing
        input = state.input
        output = state.output
        hasLines = !state.input.isEmpty
        hasState = !state.isEmpty
    }

    /// Begins to serve the connection on a loop.
    func start(on loop: HostRunLoop) throws {
        // What was left of it is served as soon as there is room for answers.
        let interest: HostRunLoop.PortSource.Interest = hasState ? [.readable, .writable] : .readable
        let source = HostRunLoop.PortSource(
            label: "client \(number)",
            descriptor: FileDescriptor(rawValue: descriptor),
            interest: interest
        ) {
            [weak self] _, readiness in
            MainActor.assumeIsolated { self?.serveMarked(readiness) }
        }
        self.source = source
        try loop.add(source, to: .common)
    }

    /// Ends the connection.
    ///
    /// Also for one whose callout was abandoned: nothing in it counts on how far that came.
    func close() {
        guard let source else { return }
        self.source = nil
        source.invalidate()
        closing(self)
        Glibc.close(descriptor)
    }

    private func serveMarked(_ readiness: HostRunLoop.PortSource.Readiness) {
        guard let mark else { return serve(readiness) }
        mark.note(number) { serve(readiness) }
    }

    private func serve(_ readiness: HostRunLoop.PortSource.Readiness) {
        if !readiness.isDisjoint(with: [.readable, .hangUp, .error, .peerClosed]), !atEnd, pending < Self.highWater {
            read()
        }
        // Answers make room for more answers as long as the peer takes them.
        repeat {
            answerLines()
            write()
        } while pending == 0 && hasLines
        guard let source else { return }
        if atEnd && pending == 0 {
            close()
        } else {
            var interest: HostRunLoop.PortSource.Interest = pending > 0 ? .writable : []
            if !atEnd && pending < Self.highWater { interest.insert(.readable) }
            if interest != source.interest { source.interest = interest }
            tellState()
        }
    }

    private func tellState() {
        guard hasMoved else { return }
        hasMoved = false
        // The common case: nothing there before, and nothing now.
        guard hasState || !input.isEmpty || pending > 0 else { return }
        let state = ConnectionState(input: input, output: output[written...])
        hasState = !state.isEmpty
        changed(self, state)
    }

    private var pending: Int { output.count - written }

    private func read() {
        let count = unsafe Glibc.read(descriptor, Self.buffer.baseAddress, Self.buffer.count)
        if count > 0 {
            unsafe input.append(Self.buffer[..<count])
            hasLines = true
            hasMoved = true
        } else if count == 0 || errno != EAGAIN && errno != EINTR {
            atEnd = true
        }
    }

    /// Answers lines until there are no more, or enough answers wait.
    private func answerLines() {
        while hasLines && pending < Self.highWater {
            switch input.next() {
            case .line(let line): output += Array((answer(line) + "\n").utf8)
            case .tooLong: output += Array("ERR line too long\n".utf8)
            case nil: hasLines = false
            }
        }
    }

    private func write() {
        while pending > 0 {
            let start = written
            let count = unsafe output.withUnsafeBytes { bytes in
                unsafe send(
                    descriptor,
                    bytes.baseAddress.map { unsafe $0 + start },
                    bytes.count - start,
                    CInt(MSG_NOSIGNAL)
                )
            }
            if count > 0 {
                written += count
                hasMoved = true
            } else if errno == EAGAIN {
                break
            } else if errno != EINTR {
                // The peer is gone: nobody waits for the rest.
                written = output.count
                atEnd = true
            }
        }
        if pending == 0 {
            output.removeAll(keepingCapacity: output.capacity <= Self.highWater)
            written = 0
        }
    }
}
