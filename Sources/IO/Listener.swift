internal import CLinuxShims
internal import Glibc
public import Holdfast
internal import LinuxSystem
internal import Logging
public import RunLoops
public import SystemPackage

/// A listening socket, and the connections that came by it.
///
/// It accepts as soon as `onConnection` is set, and until it is closed: the loop holds it. Where no descriptor is left, connections wait
/// in the backlog until there is one. Everything here is to be used on the thread of its loop.
public final class Listener: @unchecked Sendable {
    /// What crash reports call it: "name listener", and its connections "name 1", "name 2".
    package let name: String
    /// The loop that serves it.
    package let loop: HostRunLoop
    /// Where it listens: with the port that was taken for port 0.
    public let endpoint: Endpoint
    /// The limits of the connections to come.
    public var limits = Connection.Limits()

    private let descriptor: CInt
    private let keeper: Keeper?
    private let logger = Logger(label: "holdfast-io")
    private var source: HostRunLoop.PortSource?
    private var handler: (@Sendable (Connection) -> Void)?
    /// By their numbers: keys of a type whose conformance was not asked for yet cost the first connection 0.1 ms.
    private var open: [Int: Connection] = [:]
    private var accepted = 0
    /// Whether the last connection that waited could not be taken.
    private var cannotAccept = false
    /// Tries again to take one.
    private var rest: HostRunLoop.Timer?
    private var hasTakenOver = false
    /// Whether another process serves its address from now on.
    private var isResting = false
    /// Connections of the process before this one that no task has asked for.
    private var waiting: [Connection] = []
    /// That of a task that wants a connection.
    private let taskWait = TaskWait()
    /// Whether a task is in `nextConnection()`.
    private var isAwaited = false

    /// Begins to listen.
    ///
    /// - Parameters:
    ///   - endpoint: Where. The file of a Unix socket is replaced if nobody listens there.
    ///   - name: What crash reports call it and its connections.
    ///   - backlog: How many connections may wait to be accepted.
    ///   - loop: The loop that serves it.
    /// - Throws: `IOError`.
    public convenience init(
        _ endpoint: Endpoint,
        name: String = "connection",
        backlog: Int = 4096,
        on loop: HostRunLoop = .main
    ) throws(IOError) {
        let socket = try endpoint.listen(backlog: CInt(clamping: backlog))
        try self.init(takingOver: FileDescriptor(rawValue: socket.release()), name: name, on: loop)
    }

    /// Begins to listen on the main loop, or goes on: the socket, and the connections with what was read and not served, sent and not
    /// written, and their `state`, are kept across restarts in place.
    ///
    /// The connections of the process before this one are given to `onConnection` like new ones. The one whose callout ended that process
    /// is closed.
    ///
    /// - Parameters:
    ///   - endpoint: Where. Not looked at where a socket was kept.
    ///   - name: Under what it is kept, and what crash reports call it and its connections.
    ///   - host: Who keeps them.
    ///   - backlog: How many connections may wait to be accepted.
    /// - Throws: `IOError`.
    @MainActor
    public convenience init(
        _ endpoint: Endpoint,
        name: String = "connection",
        keptBy host: EventHost,
        backlog: Int = 4096
    ) throws(IOError) {
        let keeper = try Keeper(host: host, name: name, logger: Logger(label: "holdfast-io"))
        let socket: CInt
        if let kept = keeper.keptListener, Endpoint(of: kept, peer: false) != nil {
            socket = kept
        } else {
            socket = try endpoint.listen(backlog: CInt(clamping: backlog)).release()
        }
        try self.init(socket, name, host.loop, keeper)
        keeper.begin(listener: socket)
    }

    /// Takes over a socket that listens: one that a supervisor has handed over, for example.
    ///
    /// - Parameters:
    ///   - descriptor: The socket: it is made nonblocking, and closed with the listener.
    ///   - name: What crash reports call it and its connections.
    ///   - loop: The loop that serves it.
    /// - Throws: `IOError`.
    public convenience init(
        takingOver descriptor: FileDescriptor,
        name: String = "connection",
        on loop: HostRunLoop = .main
    ) throws(IOError) {
        try self.init(descriptor.rawValue, name, loop, nil)
    }

    private init(_ descriptor: CInt, _ name: String, _ loop: HostRunLoop, _ keeper: Keeper?) throws(IOError) {
        self.descriptor = descriptor
        self.name = name
        self.loop = loop
        self.keeper = keeper
        guard let endpoint = Endpoint(of: descriptor, peer: false) else {
            throw IOError("listen by descriptor \(descriptor)", Errno(rawValue: errno))
        }
        self.endpoint = endpoint
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        let socket = FileDescriptor(rawValue: descriptor)
        source = try loop.serve(
            .init(label: "\(name) listener", descriptor: socket, interest: []) { [self] _, _ in accept() },
            for: "serve \(name)"
        )
        EventHost.onRest { [weak self] in
            guard let self else { return }
            self.loop.perform { [weak self] in self?.beginRest() }
        }
        if let keeper { MainActor.assumeIsolated { keeper.received = { [weak self] in self?.takeLate() } } }
    }

    private func beginRest() {
        // What nobody else holds waits for the end of this process, which is not far.
        guard endpoint.handedDown != nil else { return }
        isResting = true
        settle()
    }

    /// Sets what is called with each connection, in a callout of that connection's: to say what is done with what comes.
    ///
    /// - Parameter handler: Called on the loop's thread.
    public func onConnection(@_inheritActorContext _ handler: @escaping @Sendable @isolated(any) (Connection) -> Void) {
        loop.require(handler.isolation, for: name)
        requireLoop()
        self.handler = Plain.connection(handler)
        takeOver()
        settle()
    }

    /// Whether connections are accepted; those that come wait in the backlog meanwhile.
    public var isAccepting = true {
        didSet { settle() }
    }

    /// The connections that are open, in no order.
    public var openConnections: [Connection] { Array(open.values) }

    /// Stops listening, for good.
    ///
    /// It is not kept any more either. Connections go on.
    public func close() {
        requireLoop()
        guard let source else { return }
        self.source = nil
        source.invalidate()
        rest?.invalidate()
        if let keeper { MainActor.assumeIsolated { keeper.end() } }
        _ = Glibc.close(descriptor)
        handler = nil
        // The file of a socket that a supervisor holds is its own: others still come by it.
        if case .unix(let path) = endpoint, endpoint.handedDown == nil { _ = unsafe unlink(path) }
        taskWait.end()
    }

    // MARK: Accepting

    private func requireLoop() {
        if !loop.isCurrent { fatalError("the listener \"\(name)\" is to be used on the thread of its loop only") }
    }

    private func settle() {
        let wants = isAccepting && !isResting && rest == nil && (handler != nil || taskWait.isPending)
        let interest: HostRunLoop.PortSource.Interest = wants ? .readable : []
        if let source, source.interest != interest { source.interest = interest }
    }

    private func accept() {
        // A bound on one callout, so that a flood of connections does not starve those that are open.
        for _ in 0..<64 {
            guard isAccepting, !isResting, handler != nil || taskWait.isPending else { break }
            do throws(Errno) {
                serve(try SystemCall.checked { hf_connection_accept(descriptor) })
            } catch .wouldBlock {
                if cannotAccept { logger.notice("takes connections again", metadata: ["listener": "\(name)"]) }
                cannotAccept = false
                break
            } catch .connectionAbort, .protocolError {
                // It was reset before it was accepted: no reason to stop (accept(2), "Error handling").
            } catch {
                return pause(error)
            }
        }
        settle()
    }

    /// Takes no connection for a tenth of a second: a socket from which none can be taken would keep the loop busy all the time.
    private func pause(_ error: Errno) {
        // Once until all that waited are in: each descriptor that comes free takes one, and the next fails again.
        if !cannotAccept {
            logger.error("cannot take connections, they wait: \(error)", metadata: ["listener": "\(name)"])
        }
        cannotAccept = true
        let again = HostRunLoop.Timer(label: "\(name) listens again", after: .milliseconds(100)) { [self] _ in
            rest = nil
            settle()
        }
        rest = again
        loop.add(again, to: .common)
        settle()
    }

    private func serve(_ descriptor: CInt) {
        accepted += 1
        let number = keeper.map { keeper in MainActor.assumeIsolated { keeper.keep(descriptor) } } ?? accepted
        serve(descriptor, number, state: nil)
    }

    /// Serves the connections of the process before this one, once.
    private func takeOver() {
        guard let keeper, !hasTakenOver else { return }
        hasTakenOver = true
        for kept in MainActor.assumeIsolated({ keeper.takeOver() }) {
            serve(kept.descriptor, kept.number, state: kept.state)
        }
        takeLate()
    }

    /// Serves the connections that the process before this one has handed over while this one served.
    private func takeLate() {
        guard let keeper, hasTakenOver else { return }
        for kept in MainActor.assumeIsolated({ keeper.takeLate() }) {
            serve(kept.descriptor, kept.number, state: kept.state)
        }
    }

    private func serve(_ descriptor: CInt, _ number: Int, state: ConnectionState?) {
        do throws(IOError) {
            let connection = try Connection(
                descriptor,
                "\(name) \(number)",
                loop,
                limits,
                keeper.map { Connection.Keeping(keeper: $0, number: number) },
                state,
                first: handler,
                closing: { [weak self] _ in self?.open[number] = nil }
            )
            open[number] = connection
            guard handler == nil else { return }
            waiting.append(connection)
            taskWait.end()
        } catch {
            logger.error("cannot serve a connection: \(error)")
            if let keeper { MainActor.assumeIsolated { keeper.giveUp(number) } }
            _ = Glibc.close(descriptor)
        }
    }

    /// The next connection for a task on the loop's thread; nil when the listener was closed, or the task is cancelled.
    nonisolated(nonsending) func nextConnection() async -> Connection? {
        requireLoop()
        if isAwaited { fatalError("two tasks wait for connections of the listener \"\(name)\"") }
        isAwaited = true
        defer { isAwaited = false }
        takeOver()
        while waiting.isEmpty {
            guard source != nil, !Task.isCancelled else {
                settle()
                return nil
            }
            await taskWait.wait(settle)
        }
        return waiting.removeFirst()
    }
}

extension Listener {
    /// The connections that come, for a task on the thread of the listener's loop, such as one of the main actor.
    ///
    /// It ends when the listener is closed. None is accepted while no task asks for one. One task at a time.
    public var connections: some AsyncSequence<Connection, Never> { Connections(listener: self) }

    private struct Connections: AsyncSequence, AsyncIteratorProtocol {
        let listener: Listener

        func makeAsyncIterator() -> Connections { self }

        mutating func next(isolation actor: isolated (any Actor)?) async -> Connection? {
            await listener.nextConnection()
        }
    }
}
