internal import CLinuxShims
internal import Glibc
internal import LinuxSystem
internal import RunLoops
internal import SystemPackage

/// Asks a program again and again whether it answers.
@MainActor
final class Prober {
    private let probe: Probe
    private let program: Program
    private let environment: [String: String]
    private var name: String { program.name }
    private let failed: @MainActor (String) -> Void
    /// How many questions in a row have had no good answer.
    private(set) var failures = 0
    /// What was wrong with the last answer; nil for a good one.
    private(set) var problem: String?
    /// Whether there was an answer, or a question without one.
    private(set) var hasAsked = false
    private var isOver = false
    private var next: HostRunLoop.Timer?
    private var limit: HostRunLoop.Timer?
    /// The connection of the question that is open; -1 for none.
    private var socket: CInt = -1
    private var source: HostRunLoop.PortSource?
    private var answer: [UInt8] = []
    /// The process of the question that is open.
    private var process: CInt?

    /// Begins to ask.
    ///
    /// - Parameters:
    ///   - probe: What is asked.
    ///   - program: Whose answers are asked for.
    ///   - environment: The environment of the supervisor, without what it was told alone.
    ///   - failed: Called when there were too many questions without a good answer, with what was missing.
    init(
        _ probe: Probe,
        for program: Program,
        environment: [String: String],
        failed: @escaping @MainActor (String) -> Void
    ) {
        self.probe = probe
        self.program = program
        self.environment = environment
        self.failed = failed
        askLater()
    }

    /// Asks no more.
    func end() {
        isOver = true
        next?.invalidate()
        if let process { _ = kill(-process, SIGKILL) }
        close()
    }

    private func askLater() {
        let timer = HostRunLoop.Timer(label: "probe of \(name)", after: probe.interval) { [weak self] _ in self?.ask() }
        next = timer
        HostRunLoop.main.add(timer, to: .common)
    }

    private func ask() {
        guard !isOver else { return }
        let limit = HostRunLoop.Timer(label: "answer to the probe of \(name)", after: probe.timeout) { [weak self] _ in
            guard let self else { return }
            if let process { _ = kill(-process, SIGKILL) }
            settle("no answer within \(self.probe.timeout.inPlainWords)")
        }
        self.limit = limit
        HostRunLoop.main.add(limit, to: .common)
        switch probe.question {
        case .tcp(let host, let port): connect(host, port) { [self] in settle(nil) }
        case .http(let host, let port, let path):
            connect(host, port) { [self] in
                request(
                    "GET \(path) HTTP/1.1\r\nHost: \(host.contains(":") ? "[\(host)]" : host):\(port)\r\nUser-Agent: holdfast\r\nConnection: close\r\n\r\n"
                )
            }
        case .exec(let command): run(command)
        }
    }

    /// Ends a question: nil for a good answer, else what is wrong.
    private func settle(_ problem: String?) {
        guard !isOver, limit != nil else { return }
        close()
        self.problem = problem
        hasAsked = true
        failures = problem == nil ? 0 : failures + 1
        if let problem, failures >= probe.failures {
            isOver = true
            return failed("\(problem), \(failures) times in a row")
        }
        askLater()
    }

    private func close() {
        limit?.invalidate()
        limit = nil
        source?.invalidate()
        source = nil
        answer = []
        if socket >= 0 { _ = Glibc.close(socket) }
        socket = -1
    }

    // MARK: TCP and HTTP

    private func connect(_ host: String, _ port: UInt16, _ connected: @escaping @MainActor () -> Void) {
        guard let address = SocketAddress(host: host, port: port) else { return settle("no address") }
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        socket = Glibc.socket(address.family, kind, 0)
        guard socket >= 0 else { return settle("\(Errno(rawValue: errno))") }
        do {
            try address.connect(socket)
        } catch {
            guard error == .nowInProgress else { return settle("\(error)") }
        }
        wait(for: .writable) { [self] in
            var error: CInt = 0
            var size = socklen_t(MemoryLayout<CInt>.size)
            _ = unsafe getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size)
            if error == 0 { connected() } else { settle("\(Errno(rawValue: error))") }
        }
    }

    private func wait(for interest: HostRunLoop.PortSource.Interest, _ perform: @escaping @MainActor () -> Void) {
        source?.invalidate()
        let source = HostRunLoop.PortSource(
            label: "probe of \(name)",
            descriptor: FileDescriptor(rawValue: socket),
            interest: interest
        ) { _, _ in perform() }
        self.source = source
        _ = try? HostRunLoop.main.add(source, to: .common)
    }

    private func request(_ text: String) {
        // It is small, and the connection is new: there is room.
        let bytes = Array(text.utf8)
        let count = unsafe bytes.withUnsafeBytes { unsafe send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
        guard count == bytes.count else { return settle("the request could not be sent") }
        wait(for: .readable) { [self] in takeAnswer() }
    }

    private func takeAnswer() {
        var bytes = [UInt8](repeating: 0, count: 512)
        let size = bytes.count
        let count = unsafe read(socket, &bytes, size)
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        if count > 0 { answer += bytes[..<count] }
        // `HTTP/1.1 200 OK` (RFC 9112).
        let isInterim = Self.dropInterimAnswers(&answer)
        guard !isInterim && answer.contains(10) || answer.count >= 4096 || count <= 0 else { return }
        let words = String(decoding: answer.prefix { $0 != 10 && $0 != 13 }, as: UTF8.self).split(separator: " ")
        guard words.count >= 2, words[0].hasPrefix("HTTP/"), let status = Int(words[1]) else {
            return settle("an answer that is not HTTP")
        }
        settle((200..<400).contains(status) ? nil : "status \(status)")
    }

    /// Takes away the answers before the one that counts, such as `103 Early Hints` (RFC 9110, section 15.2).
    ///
    /// - Parameter answer: What has come.
    /// - Returns: Whether one of them has not come to its end.
    private static func dropInterimAnswers(_ answer: inout [UInt8]) -> Bool {
        let end = Array("\r\n\r\n".utf8)
        // 101 is the last one of its connection.
        while answer.starts(with: "HTTP/1.1 1".utf8), !answer.starts(with: "HTTP/1.1 101".utf8) {
            guard let place = answer.indices.first(where: { answer[$0...].starts(with: end) }) else { return true }
            answer.removeSubrange(..<(place + end.count))
        }
        return false
    }

    // MARK: A program

    private func run(_ command: [String]) {
        do {
            process = try QuietChild.start(
                command,
                environment: environment.merging(program.environment) { $1 },
                directory: program.directory
            )
        } catch {
            settle(error.text)
        }
    }

    /// Takes the end of a process, if it is that of a question.
    ///
    /// - Parameter event: What waitid(2) says; its end was not taken yet.
    /// - Returns: Whether it was taken.
    func takeEnd(_ event: HFChildEvent) -> Bool {
        guard event.pid == process else { return false }
        var taken = HFChildEvent()
        // Before its number is free: what it has left behind would pile up.
        _ = kill(-event.pid, SIGKILL)
        _ = unsafe hf_child_take(event.pid, &taken)
        process = nil
        let end: ProcessEnd = event.code == CLD_EXITED ? .exited(event.status) : .signalled(event.status)
        settle(end == .exited(0) ? nil : "the probe ended by \(end)")
        return true
    }
}
