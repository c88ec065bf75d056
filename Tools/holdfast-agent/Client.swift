import Glibc
import RunLoops

/// One connection: lines in, answers out, with a bound on what waits for a slow reader.
@MainActor
final class Client {
    /// Above this many waiting bytes no more requests are read.
    static let highWater = 64 * 1024

    /// What is read goes here first, for all clients, and for ever: what a callout allocates for itself is lost when it faults
    /// (measured: 16 KiB more for each of 10,000 faults).
    private static let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 16 * 1024)

    private let descriptor: CInt
    private let answer: @MainActor (String) -> String
    private let closed: @MainActor (Client) -> Void
    private(set) var source: HostRunLoop.PortSource?
    private var input = LineBuffer()
    private var output: [UInt8] = []
    private var written = 0
    /// Whether the input may hold another whole line.
    private var hasLines = false
    private var atEnd = false

    /// Takes over a connection.
    ///
    /// - Parameters:
    ///   - descriptor: A nonblocking socket.
    ///   - answer: Gives the answer to a line.
    ///   - closed: Called once, when the connection is gone.
    init(
        descriptor: CInt,
        answer: @escaping @MainActor (String) -> String,
        closed: @escaping @MainActor (Client) -> Void
    ) {
        self.descriptor = descriptor
        self.answer = answer
        self.closed = closed
    }

    /// Begins to serve the connection on a loop.
    func start(on loop: HostRunLoop) throws {
        let source = HostRunLoop.PortSource(label: "client \(descriptor)", descriptor: descriptor) {
            [weak self] readiness in
            MainActor.assumeIsolated { self?.serve(readiness) }
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
        Glibc.close(descriptor)
        closed(self)
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
        }
    }

    private var pending: Int { output.count - written }

    private func read() {
        let count = unsafe Glibc.read(descriptor, Self.buffer.baseAddress, Self.buffer.count)
        if count > 0 {
            unsafe input.append(Self.buffer[..<count])
            hasLines = true
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
