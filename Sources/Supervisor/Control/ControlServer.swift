internal import CLinuxShims
internal import Glibc
internal import LinuxSystem
internal import RunLoops
internal import SystemPackage

/// The socket at which a supervisor takes orders: packets with a line each, answered by a packet: `ok` or `error`, and behind it the text.
///
/// Only its user and root are answered, whatever the permissions of the socket's file are.
@MainActor
final class ControlServer {
    /// Its end removes the file.
    private var listener: UnixSocketListener?
    private var source: HostRunLoop.PortSource?
    private var waiting: [Answer] = []
    private var clients: [CInt: HostRunLoop.PortSource] = [:]
    /// Those that have not asked for anything yet, the oldest first.
    private var silent: [CInt] = []
    private let obey: @MainActor (ControlRequest, Answer) -> Void

    /// Who may be connected at the same time.
    ///
    /// Beyond that, one that has not asked for anything makes room, and if all have, more are turned away.
    private static let mostClients = 64

    /// Opens it.
    ///
    /// - Parameters:
    ///   - path: The name of the socket.
    ///   - obey: Called for each order.
    /// - Throws: The error of a call: `EADDRINUSE` if another supervisor has it.
    init(at path: FilePath, obey: @escaping @MainActor (ControlRequest, Answer) -> Void) throws(Errno) {
        let listener = try UnixSocketListener(at: .path(path))
        self.listener = listener
        self.obey = obey
        let source = HostRunLoop.PortSource(
            label: "orders",
            descriptor: FileDescriptor(rawValue: listener.rawValue)
        ) { [self] _, _ in accept() }
        self.source = source
        _ = try? HostRunLoop.main.add(source, to: .common)
    }

    /// Ends it: who waits hears that everything has ended.
    func close() {
        for answer in waiting { answer.end() }
        waiting = []
        source?.invalidate()
        source = nil
        listener = nil
        for client in Array(clients.keys) { drop(client) }
    }

    /// Looks whether somebody's wait is over.
    func noteChange() { waiting.removeAll { $0.isOver() } }

    private func accept() {
        guard let listener, let connection = try? PacketSocket.accept(from: listener.rawValue) else { return }
        if clients.count >= Self.mostClients, let oldest = silent.first { drop(oldest) }
        guard clients.count < Self.mostClients else { return }
        let number = connection.release()
        let client = HostRunLoop.PortSource(label: "order", descriptor: FileDescriptor(rawValue: number)) {
            [self] _, _ in
            take(from: number)
        }
        clients[number] = client
        silent.append(number)
        _ = try? HostRunLoop.main.add(client, to: .common)
    }

    private func drop(_ number: CInt) {
        guard let client = clients.removeValue(forKey: number) else { return }
        client.invalidate()
        silent.removeAll { $0 == number }
        waiting.removeAll { $0.number == number }
        _ = Glibc.close(number)
    }

    private func take(from number: CInt) {
        var bytes = [UInt8](repeating: 0, count: 1024)
        let packet = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe try? PacketSocket.receive(into: buffer, from: number)
        }
        // Nobody wants them, also with a message of no bytes, which is no end.
        for descriptor in packet?.1.descriptors ?? [] { _ = Glibc.close(descriptor) }
        guard let (count, extras) = packet, count > 0 else { return drop(number) }
        silent.removeAll { $0 == number }
        let answer = Answer(number)
        guard let sender = extras.credentials, sender.user == geteuid() || sender.user == 0 else {
            return answer.fail("only the user of the supervisor and root may ask")
        }
        guard !extras.isTruncated, var request = ControlRequest(bytes: bytes[..<count]) else {
            return answer.fail(
                "no such order; there are: \(ControlRequest.Order.allCases.map(\.rawValue).joined(separator: ", "))"
            )
        }
        request.sender = "holdfast \(request.order.rawValue) by process \(sender.process) of user \(sender.user)"
        // Before: the order may end everything at once.
        waiting.append(answer)
        obey(request, answer)
        noteChange()
    }

    /// What somebody gets who has asked.
    @MainActor
    final class Answer {
        fileprivate let number: CInt
        private var condition: (@MainActor () -> Bool)?
        private var failure: (@MainActor () -> String?)?
        private var word = ""
        private var isEndOfAll = false
        private var isAnswered = false

        fileprivate init(_ number: CInt) { self.number = number }

        /// Answers.
        func give(_ text: String) { send("ok\n", text) }

        /// Answers that it cannot be done.
        func fail(_ text: String) { send("error\n", text) }

        private func send(_ head: String, _ text: String) {
            isAnswered = true
            do {
                try PacketSocket.send(Array(head.utf8), Array(text.utf8), descriptors: [], to: number)
            } catch .messageTooLong {
                let text =
                    "the answer is too long, with \(text.utf8.count) bytes: ask for one program, or without --json"
                try? PacketSocket.send(Array("error\n".utf8), Array(text.utf8), descriptors: [], to: number)
            } catch {}
        }

        /// Answers when a condition holds, which is looked at after each change, or with why it will not hold, in sentences.
        func wait(
            for condition: @escaping @MainActor () -> Bool,
            unless failure: @escaping @MainActor () -> String? = { nil },
            then word: String,
            isEndOfAll: Bool = false
        ) {
            (self.condition, self.failure, self.word, self.isEndOfAll) = (condition, failure, word, isEndOfAll)
        }

        fileprivate func end() {
            guard !isAnswered, condition != nil else { return }
            if isEndOfAll { give(word) } else { fail("the supervisor has ended meanwhile") }
        }

        fileprivate func isOver() -> Bool {
            if isAnswered { return true }
            // Not yet: the order is being carried out.
            guard let condition else { return false }
            if condition() {
                give(word)
                return true
            }
            guard let failure = failure?() else { return false }
            fail("\(failure) 'crashreport show last' says more")
            return true
        }
    }
}
