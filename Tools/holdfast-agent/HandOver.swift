import Holdfast
import Logging

/// The connections that a restart in place does not end: each is kept for the next process, with what was read from it and what was not
/// written to it.
///
/// The connection that was being served when the process ended is not among them, nor one whose callout was abandoned: its request
/// is gone, and its peer would wait for ever.
@MainActor
final class HandOver {
    /// A connection of the process before this one.
    struct Connection {
        let number: Int
        let descriptor: CInt
        let state: ConnectionState
    }

    private static let listener = "listener"
    private static let mark = "mark"
    private static let prefix = "client "
    /// Beyond these no number is believed.
    private static let numbers = 1..<1 << 53

    /// Which connection is being served.
    let mark: ServiceMark
    private let host: EventHost
    private let logger: Logger
    /// Numbers are given once, also over restarts: safe mode withholds the items that have the labels of those that faulted.
    private var next = 1

    init(host: EventHost, logger: Logger) throws {
        self.host = host
        self.logger = logger
        mark = try ServiceMark(takingOver: (host.keptDescriptor(named: Self.mark)?.rawValue))
        try host.keepAcrossRestart(FileDescriptor(rawValue: mark.descriptor), as: Self.mark)
    }

    private static func label(_ number: Int) -> String { prefix + "\(number)" }

    private static func number(in label: String) -> Int? {
        guard label.hasPrefix(prefix), let number = Int(label.dropFirst(prefix.count)) else { return nil }
        return numbers.contains(number) ? number : nil
    }

    // MARK: The listener

    /// The listening socket of the process before this one.
    var keptListener: CInt? { (host.keptDescriptor(named: Self.listener)?.rawValue) }

    /// Keeps the listening socket, so that nobody is refused during a restart, and goes on counting.
    func begin(listener: CInt) throws {
        let counted = host.keptState(named: Self.listener).flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 1
        let known = withheld.compactMap(Self.number(in:)) + host.keptNames.compactMap(Self.number(in:))
        next = max(Self.numbers.contains(counted) ? counted : 1, (known.max() ?? 0) + 1)
        try host.keepAcrossRestart(FileDescriptor(rawValue: listener), as: Self.listener, state: Array("\(next)".utf8))
    }

    // MARK: Connections

    /// Keeps a connection from its start on.
    ///
    /// - Returns: A number that no connection ever had.
    func keep(_ descriptor: CInt) -> Int {
        let number = next
        next += 1
        attempt(number) { () throws(KeptDescriptorError) in
            try host.keepAcrossRestart(FileDescriptor(rawValue: descriptor), as: Self.label(number))
            try host.setKeptState(Array("\(next)".utf8), named: Self.listener)
        }
        return number
    }

    /// Changes what goes with a connection.
    func set(_ state: ConnectionState, of number: Int) {
        attempt(number) { () throws(KeptDescriptorError) in
            try host.setKeptState(state.bytes, named: Self.label(number))
        }
    }

    /// Keeps a connection no longer: to be called before it is closed.
    func giveUp(_ number: Int) {
        attempt(number) { () throws(KeptDescriptorError) in
            try host.keepAcrossRestart(nil, as: Self.label(number))
        }
    }

    /// A connection that cannot be kept is served all the same, until the next restart ends it.
    private func attempt(_ number: Int, _ body: () throws(KeptDescriptorError) -> Void) {
        do {
            try body()
        } catch {
            logger.error("a restart would end a connection", metadata: ["client": "\(number)", "error": "\(error)"])
        }
    }

    // MARK: Taking over

    /// The connections of the process before this one that can go on; the others are closed.
    func takeOver() -> [Connection] {
        let faulted = withheld.union(host.history.faults.map(\.label))
        var connections: [Connection] = []
        for label in host.keptNames {
            guard let number = Self.number(in: label) else { continue }
            if number != mark.leftover, !faulted.contains(label),
                let state = ConnectionState(bytes: host.keptState(named: label) ?? []),
                let descriptor = (host.keptDescriptor(named: label)?.rawValue)
            {
                connections.append(Connection(number: number, descriptor: descriptor, state: state))
            } else {
                // Closes it, too: nobody has asked for it.
                giveUp(number)
            }
        }
        return connections
    }

    private var withheld: Set<String> {
        guard case .safeMode(let labels) = host.stage else { return [] }
        return labels
    }
}
