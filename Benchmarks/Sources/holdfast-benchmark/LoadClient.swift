import Glibc

/// A client that nobody tuned: some blocking connections, each with one request at a time, in one poll(2) loop.
///
/// A connection asks `PING`, waits for the answer, thinks, and asks again. It learns that it is gone when it has asked and no answer
/// comes; then the request is lost, and is asked again on a new connection. Faults are requests like any other, which the
/// connections send in turn; their own are not counted as lost.
final class LoadClient {
    /// What happened to the requests that were no faults.
    struct Counts {
        /// Those that were asked, each once however often it had to be.
        var asked = 0
        var answered = 0
        /// Sent, and the connection ended instead of an answer.
        var lost = 0
        /// Answered by something else than they should have been.
        var wrong = 0
        var faults = 0
        /// Faults that were answered, which they must not be.
        var faultsAnswered = 0
    }

    private struct Connection {
        var line: LineConnection
        /// When its request was first asked; nil while it thinks.
        var asked: Double?
        /// Whether that request is a fault.
        var isFault = false
        /// When it asks next.
        var due: Double
        /// The longest time that a request of the present window has waited.
        var longest = 0.0
        /// Whether the window's fault is its own.
        var isFaulting = false
    }

    /// Between an answer and the next question.
    private let thinkTime: Double
    /// Before somebody is asked again who did not listen.
    private let retryTime = 0.5e6
    private var connections: [Connection]
    private(set) var counts = Counts()
    /// For each fault and each connection but the one that faulted, how long the slowest request of the time to the next fault
    /// took, in nanoseconds.
    private(set) var stalls: [Double] = []

    /// - Parameters:
    ///   - port: Where the server listens.
    ///   - connections: How many.
    ///   - thinkTime: Between an answer and the next question, in nanoseconds.
    init(port: UInt16, connections: Int, thinkTime: Double) {
        self.thinkTime = thinkTime
        let start = now()
        // Not all at once.
        self.connections = (0..<connections).map {
            Connection(line: LineConnection(port: port), due: start + thinkTime * Double($0) / Double(connections))
        }
    }

    /// Asks for so many nanoseconds.
    func run(for duration: Double) {
        let end = now() + duration
        while now() < end { step(until: end) }
    }

    /// Asks for so many nanoseconds after a connection was told to commit a fault, and notes how long the others waited.
    ///
    /// - Parameters:
    ///   - fault: Its name; nil for a window without one.
    ///   - index: The connection.
    ///   - duration: The length of the window, in nanoseconds.
    func runWindow(_ fault: String?, faulting index: Int, for duration: Double) {
        for other in connections.indices {
            connections[other].longest = 0
            connections[other].isFaulting = other == index && fault != nil
        }
        if let fault { commit(fault, on: index) }
        run(for: duration)
        let present = now()
        for connection in connections where !connection.isFaulting {
            // One that still waits has waited this long at least.
            stalls.append(max(connection.longest, connection.asked.map { present - $0 } ?? 0))
        }
    }

    /// Has a connection commit a fault as soon as it has its answer.
    func commit(_ fault: String, on index: Int) {
        while true {
            if connections[index].asked == nil {
                connections[index].due = .infinity
                if connections[index].line.isOpen || connections[index].line.open() { break }
            }
            step(until: now() + 1e6)
        }
        counts.faults += 1
        connections[index].isFault = true
        connections[index].asked = now()
        if !connections[index].line.send("FAULT " + fault) { end(index) }
    }

    /// Whether a connection is through with its fault.
    func isThrough(_ index: Int) -> Bool { !connections[index].isFault }

    /// Whether every connection is open: one that faulted opens when it asks next.
    var isWhole: Bool { connections.allSatisfy(\.line.isOpen) }

    /// Waits for what was asked, and asks nothing more.
    ///
    /// - Returns: How many requests had no answer within the time.
    func finish(within duration: Double) -> Int {
        let end = now() + duration
        for index in connections.indices where connections[index].asked == nil { connections[index].due = .infinity }
        isEnding = true
        while now() < end, connections.contains(where: { $0.asked != nil }) { step(until: end) }
        for index in connections.indices { connections[index].line.close() }
        return connections.count { $0.asked != nil }
    }

    private var isEnding = false

    // MARK: One step

    /// Asks where it is time, and takes the answers that there are.
    func step(until end: Double) {
        let present = now()
        var next = end
        for index in connections.indices {
            if connections[index].due <= present { ask(index, present) }
            next = min(next, connections[index].due)
        }
        var waiting: [pollfd] = []
        var indices: [Int] = []
        for index in connections.indices where connections[index].asked != nil && connections[index].line.isOpen {
            waiting.append(pollfd(fd: connections[index].line.descriptor, events: Int16(POLLIN), revents: 0))
            indices.append(index)
        }
        let milliseconds = max(0, ((next - now()) / 1e6).rounded(.up))
        guard unsafe poll(&waiting, nfds_t(waiting.count), CInt(min(milliseconds, 1000))) > 0 else { return }
        for (entry, index) in zip(waiting, indices) where entry.revents != 0 { receive(index) }
    }

    private func ask(_ index: Int, _ present: Double) {
        connections[index].due = .infinity
        if connections[index].asked == nil {
            connections[index].asked = present
            counts.asked += 1
        }
        guard connections[index].line.isOpen || connections[index].line.open() else {
            connections[index].due = present + retryTime
            return
        }
        if !connections[index].line.send("PING") { end(index) }
    }

    private func receive(_ index: Int) {
        guard let answer = connections[index].line.receive(), let asked = connections[index].asked else {
            return end(index)
        }
        if connections[index].isFault {
            counts.faultsAnswered += 1
            return end(index)
        }
        if answer == "PONG" { counts.answered += 1 } else { counts.wrong += 1 }
        let present = now()
        connections[index].longest = max(connections[index].longest, present - asked)
        connections[index].asked = nil
        connections[index].due = isEnding ? .infinity : present + thinkTime
    }

    /// Makes an end of a connection that is gone.
    ///
    /// What it had asked is asked again on the next one, unless that was a fault.
    private func end(_ index: Int) {
        connections[index].line.close()
        connections[index].due = isEnding && connections[index].isFault ? .infinity : now()
        if connections[index].isFault {
            connections[index].isFault = false
            connections[index].asked = nil
        } else {
            counts.lost += 1
        }
    }
}
