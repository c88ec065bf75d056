internal import Glibc
internal import Holdfast
internal import Logging
internal import SystemPackage

/// What of a listener a restart in place does not end: its socket, and its connections, each with what was read from it and what was
/// not written to it.
///
/// The connection that was being served when the process ended is not among them, nor one whose callout was abandoned: its request
/// is gone, and its peer would wait for ever.
@MainActor
final class Keeper {
    /// A connection of the process before this one.
    struct Kept: Sendable {
        let number: Int
        let descriptor: CInt
        let state: ConnectionState
    }

    /// One that has come while this process serves, with the number that it had there.
    private struct Late {
        let kept: Kept
        let before: Int
    }

    /// Beyond these no number is believed.
    private static let numbers = 1..<1 << 53

    /// Which connection is being served.
    let mark: ServiceMark
    private let host: EventHost
    private let name: String
    private let logger: Logger
    /// Called when the process before this one has handed over a connection while this one serves.
    var received: (() -> Void)?
    private var late: [Late] = []
    /// Whether `received` is about to be called.
    private var isExpected = false
    /// Which connection the process before this one was serving when it handed over; 0 for none.
    private var servedBefore = 0
    /// Numbers are given once, also over restarts: safe mode withholds the items that have the labels of those that faulted.
    private var next = 1
    /// From here on none was given: what the next process goes on with.
    private var unused = 1

    init(host: EventHost, name: String, logger: Logger) throws(IOError) {
        self.host = host
        self.name = name
        self.logger = logger
        let label = "\(name) mark"
        do throws(Errno) {
            mark = try ServiceMark(takingOver: host.keptDescriptor(named: label)?.rawValue)
        } catch {
            throw IOError("keep connections of \(name)", error)
        }
        attempt(label) {
            try host.keepAcrossRestart(FileDescriptor(rawValue: mark.descriptor), as: label)
        }
        host.onHandOver { [weak self] in self?.receive($0, $1, $2) ?? false }
    }

    private func label(_ number: Int) -> String { "\(name) \(number)" }

    private func number(in label: String) -> Int? {
        guard label.hasPrefix(name + " "), let number = Int(label.dropFirst(name.utf8.count + 1)) else { return nil }
        return Self.numbers.contains(number) ? number : nil
    }

    // MARK: The listener

    /// The listening socket of the process before this one.
    var keptListener: CInt? { host.keptDescriptor(named: name)?.rawValue }

    /// Keeps the listening socket, so that nobody is refused during a restart, and goes on counting.
    func begin(listener: CInt) {
        let counted = host.keptState(named: name).flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 1
        let known = withheld.compactMap(number(in:)) + host.keptNames.compactMap(number(in:))
        next = max(Self.numbers.contains(counted) ? counted : 1, (known.max() ?? 0) + 1)
        unused = next
        attempt(name) {
            try host.keepAcrossRestart(FileDescriptor(rawValue: listener), as: name, state: Array("\(unused)".utf8))
        }
    }

    /// Keeps the listening socket no longer.
    func end() {
        attempt(name) { try host.keepAcrossRestart(nil, as: name) }
    }

    // MARK: Connections

    /// Keeps a connection from its start on.
    ///
    /// - Parameters:
    ///   - descriptor: Its socket.
    ///   - state: What goes with it; nil for nothing yet.
    /// - Returns: A number that no connection ever had.
    func keep(_ descriptor: CInt, _ state: ConnectionState? = nil) -> Int {
        let number = next
        next += 1
        attempt(label(number)) {
            let (socket, bytes) = (FileDescriptor(rawValue: descriptor), state?.bytes ?? [])
            try host.keepAcrossRestart(socket, as: label(number), state: bytes)
        }
        if number == unused {
            // Written once for many.
            unused += 64
            attempt(name) { try host.setKeptState(Array("\(unused)".utf8), named: name) }
        }
        return number
    }

    /// Changes what goes with a connection.
    func set(_ state: ConnectionState, of number: Int) {
        attempt(label(number)) {
            try host.setKeptState(state.bytes, named: label(number))
        }
    }

    /// Keeps a connection no longer: to be called before it is closed.
    func giveUp(_ number: Int) {
        attempt(label(number)) {
            try host.keepAcrossRestart(nil, as: label(number))
        }
    }

    /// What cannot be kept is served all the same, until the next restart ends it.
    private func attempt(_ label: String, _ body: () throws -> Void) {
        do {
            try body()
        } catch {
            logger.error("a restart would end what is to be kept", metadata: ["name": "\(label)", "error": "\(error)"])
        }
    }

    // MARK: Taking over

    /// The connections of the process before this one that can go on; the others are closed.
    func takeOver() -> [Kept] {
        let faulted = withheld.union(host.history.faults.map(\.label))
        var connections: [Kept] = []
        for label in host.keptNames {
            guard let number = number(in: label) else { continue }
            if number != mark.leftover, !faulted.contains(label),
                let state = ConnectionState(bytes: host.keptState(named: label) ?? []),
                !state.marks.contains(.isServed),
                let descriptor = host.keptDescriptor(named: label)?.rawValue
            {
                connections.append(Kept(number: number, descriptor: descriptor, state: state))
            } else {
                // Closes it, too: nobody has asked for it.
                giveUp(number)
            }
        }
        return connections
    }

    /// Takes what the process before this one kept, which ends now; returns whether it was ours.
    private func receive(_ label: String, _ descriptor: FileDescriptor, _ bytes: [UInt8]) -> Bool {
        if label == name || label == "\(name) mark" {
            // This process has its own.
            if label != name { servedBefore = ServiceMark.number(in: descriptor.rawValue) }
            _ = Glibc.close(descriptor.rawValue)
            return true
        }
        guard let before = number(in: label) else { return false }
        guard let state = ConnectionState(bytes: bytes) else {
            logger.error("a connection was handed over with what this program cannot read: it is closed")
            _ = Glibc.close(descriptor.rawValue)
            return true
        }
        // Here it gets a number of its own: both processes count.
        let number = keep(descriptor.rawValue, state)
        late.append(Late(kept: Kept(number: number, descriptor: descriptor.rawValue, state: state), before: before))
        guard !isExpected else { return true }
        isExpected = true
        // When all have come: the mark may be the last.
        host.loop.perform { @MainActor [weak self] in
            self?.isExpected = false
            self?.received?()
        }
        return true
    }

    /// The connections that came so; the one that was being served is closed.
    func takeLate() -> [Kept] {
        defer {
            late = []
            servedBefore = 0
        }
        return late.compactMap {
            if $0.before != servedBefore, !$0.kept.state.marks.contains(.isServed) { return $0.kept }
            giveUp($0.kept.number)
            _ = Glibc.close($0.kept.descriptor)
            return nil
        }
    }

    private var withheld: Set<String> {
        guard case .safeMode(let labels) = host.stage else { return [] }
        return labels
    }
}
