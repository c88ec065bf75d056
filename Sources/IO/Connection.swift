internal import Glibc
internal import LinuxSystem
public import RunLoops
public import SystemPackage

/// A stream of bytes in both directions: a socket, the end of a pipe, or a terminal.
///
/// What comes is given to `onLine` or `onBytes`; until one of them is set, nothing is read. What is sent waits in memory until the peer
/// takes it. While too much waits, nothing is read, so that a peer that does not listen cannot ask for more.
///
/// It lives until it is closed: the loop holds it. It ends by itself when the peer has ended it and everything was sent (unless `onEnd`
/// is set), when it fails, and when a callout of it faults and is abandoned (unless `onAbandon` is `.keep`). Everything here is to be used
/// on the thread of its loop.
public final class Connection: @unchecked Sendable {
    /// What a connection may cost.
    public struct Limits: Sendable, Hashable {
        /// The longest line, in bytes.
        public var line = 8192
        /// Above so many bytes that wait to be written, nothing is read.
        public var highWater = 64 * 1024
        /// At so many bytes that wait to be written, reading goes on, and `onRoom` is called.
        public var lowWater = 16 * 1024
        /// With more bytes that wait to be written, the connection is closed.
        public var unsent = 8 * 1024 * 1024
        /// How long nothing may come or go; `nil` for ever.
        public var idle: Duration?

        /// The limits above.
        package init() {}
    }

    /// Why a connection was closed.
    public enum Ending: Error, Sendable, Hashable {
        /// By the program, or by the peer.
        case closed
        /// A line was longer than its limit.
        case lineTooLong
        /// More waited to be written than its limit.
        case tooMuchUnsent
        /// Nothing came or went for too long.
        case idle
        /// A callout of it faulted, and was abandoned.
        case abandoned
        /// A system call failed.
        case failed(IOError)
    }

    /// What becomes of a connection when a callout of it faults and is abandoned.
    public enum Abandonment: Sendable, Hashable {
        /// It is closed: its request is gone, and what belongs to it may be half changed.
        case close
        /// It goes on with what comes next; the line that was being served is not served again.
        case keep
    }

    /// What a crash report calls it.
    public let label: String
    /// The loop that serves it.
    package let loop: HostRunLoop
    /// Who the peer is, as far as the kernel knows.
    public let peer: Endpoint?
    /// Whether a process before this one has accepted it.
    public let isTakenOver: Bool
    /// What becomes of it when a callout of it is abandoned.
    public var onAbandon = Abandonment.close
    /// What it may cost.
    public var limits: Limits {
        didSet {
            input.limit = limits.line
            watchIdleness()
        }
    }

    private let descriptor: CInt
    private let isSocket: Bool
    private let keeping: Keeping?
    private var source: HostRunLoop.PortSource?
    /// What its callouts are of.
    var item: HostRunLoop.Item? { source }
    private var input: LineBuffer
    private var output: SendBuffer
    /// Whether the input may hold something that was not offered yet.
    private var hasInput: Bool
    private var atEnd = false
    private var isEndTold = false
    /// Whether as much as the high-water mark waited, and not yet as little as the low one.
    private var isFull = false
    private var isServing = false
    private var marks: ConnectionState.Marks
    private var closesWhenSent: Bool { marks.contains(.closesWhenSent) }
    private var endsWhenSent: Bool { marks.contains(.endsWhenSent) }
    /// Whether bytes came or went since the state was kept.
    private var hasMoved = false
    /// Whether the state that was kept last is not empty.
    private var hasState: Bool
    private var lastMove = HostRunLoop.Instant.now
    private var idleTimer: HostRunLoop.Timer?
    /// Serves what was read, where the kernel tells of nothing.
    private var turn: HostRunLoop.Timer?

    private var first: (@Sendable (Connection) -> Void)?
    private var closing: (@Sendable (Connection) -> Void)?
    private var lineHandler: (@Sendable (Connection, String) -> Void)?
    private var longLineHandler: (@Sendable (Connection) -> Void)?
    private var bytesHandler: (@Sendable (Connection, [UInt8]) -> Void)?
    private var roomHandler: (@Sendable (Connection) -> Void)?
    private var endHandler: (@Sendable (Connection) -> Void)?
    private var closeHandler: (@Sendable (Connection, Ending) -> Void)?
    /// That of a task that wants a line.
    private let taskWait = TaskWait()
    /// Whether a task is in `nextLine()`.
    private var isAwaited = false
    /// Why the connection was closed.
    private var ending: Ending?
    /// Whether tasks take the lines.
    private var isPulled = false

    /// How a connection that outlives restarts is kept.
    struct Keeping {
        let keeper: Keeper
        let number: Int
    }

    /// Takes over a descriptor: it is made nonblocking, and closed with the connection.
    ///
    /// - Parameters:
    ///   - descriptor: A socket, the end of a pipe, or a terminal.
    ///   - label: What a crash report calls the connection.
    ///   - loop: The loop that serves it.
    /// - Throws: `IOError`; the descriptor stays the caller's then.
    public convenience init(
        _ descriptor: FileDescriptor,
        label: String,
        on loop: HostRunLoop = .main
    ) throws(IOError) {
        try self.init(descriptor.rawValue, label, loop, Limits(), nil, nil, first: nil, closing: nil)
    }

    init(
        _ descriptor: CInt,
        _ label: String,
        _ loop: HostRunLoop,
        _ limits: Limits,
        _ keeping: Keeping?,
        _ state: ConnectionState?,
        first: (@Sendable (Connection) -> Void)?,
        closing: (@Sendable (Connection) -> Void)?
    ) throws(IOError) {
        self.descriptor = descriptor
        self.label = label
        self.loop = loop
        self.limits = limits
        self.keeping = keeping
        self.first = first
        self.closing = closing
        isTakenOver = state != nil
        let state = state ?? ConnectionState()
        input = state.input
        input.limit = limits.line
        output = SendBuffer(state.output)
        self.state = state.program
        marks = state.marks
        hasInput = !state.input.isEmpty
        hasState = !state.isEmpty
        isFull = state.output.count >= limits.highWater
        peer = Endpoint(of: descriptor, peer: true)
        var status = stat()
        isSocket = unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
        do throws(Errno) {
            let flags = try SystemCall.checked { fcntl(descriptor, F_GETFL) }
            if flags & O_NONBLOCK == 0 { try SystemCall.checked { fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) } }
        } catch {
            throw IOError("make \(label) nonblocking", error)
        }
        // The first callout comes at once, where there is something to do in it; what has come by then is read in it, too.
        let interest: HostRunLoop.PortSource.Interest =
            first != nil ? [.writable, .readable] : output.count > 0 ? .writable : []
        source = try loop.serve(
            .init(label: label, descriptor: FileDescriptor(rawValue: descriptor), interest: interest) { [self] in
                serve($1)
            },
            for: "serve \(label)"
        )
        watchIdleness()
    }

    // MARK: What comes

    /// Sets what is called for each line, without its end.
    ///
    /// What is no UTF-8 in it is repaired. A last line without an end is not given: see `unread`.
    ///
    /// - Parameter handler: Called on the loop's thread.
    public func onLine(
        @_inheritActorContext _ handler: @escaping @Sendable @isolated(any) (Connection, String) -> Void
    ) {
        loop.require(handler.isolation, for: label)
        lineHandler = Plain.line(handler)
        consumerHasChanged()
    }

    /// Sets what is called when a line is longer than `Limits.line`; the line is skipped to its end.
    ///
    /// Without it the connection is closed.
    ///
    /// - Parameter handler: Called on the loop's thread.
    public func onLongLine(@_inheritActorContext _ handler: @escaping @Sendable @isolated(any) (Connection) -> Void) {
        loop.require(handler.isolation, for: label)
        longLineHandler = Plain.connection(handler)
    }

    /// Sets what is called with whatever bytes have come, instead of lines.
    ///
    /// - Parameter handler: Called on the loop's thread.
    public func onBytes(
        @_inheritActorContext _ handler: @escaping @Sendable @isolated(any) (Connection, [UInt8]) -> Void
    ) {
        loop.require(handler.isolation, for: label)
        bytesHandler = Plain.bytes(handler)
        consumerHasChanged()
    }

    /// Sets what is called when the peer sends no more; it may go on receiving.
    ///
    /// Without it the connection is closed when everything was sent.
    ///
    /// - Parameter handler: Called on the loop's thread, once.
    public func onEnd(@_inheritActorContext _ handler: @escaping @Sendable @isolated(any) (Connection) -> Void) {
        loop.require(handler.isolation, for: label)
        endHandler = Plain.connection(handler)
    }

    /// Sets what is called when the connection was closed, for whatever reason.
    ///
    /// - Parameter handler: Called on the loop's thread, once.
    public func onClose(
        @_inheritActorContext _ handler: @escaping @Sendable @isolated(any) (Connection, Ending) -> Void
    ) {
        loop.require(handler.isolation, for: label)
        closeHandler = Plain.ending(handler)
    }

    /// Whether what comes is read; a program that cannot take more sets it to false for a while.
    public var isReading = true {
        didSet { consumerHasChanged() }
    }

    /// What was read, and given to nobody.
    public var unread: [UInt8] { Array(input.rest) }

    // MARK: What goes

    /// Sends bytes: what the peer does not take now waits in memory.
    ///
    /// - Parameter bytes: The bytes; nothing happens where the connection is closed.
    /// - Returns: Whether there is room for more. `false` where `Limits.highWater` bytes wait; `onRoom` tells when there is again.
    @discardableResult
    public func send(_ bytes: some Collection<UInt8>) -> Bool {
        requireLoop()
        guard isOpen, !closesWhenSent, !endsWhenSent else { return false }
        guard unsentCount + bytes.count <= limits.unsent else {
            close(.tooMuchUnsent)
            return false
        }
        output.append(bytes, keepingGone: limits.highWater)
        hasMoved = true
        // In a callout of its own it is all written at once, at the end.
        if !isServing {
            write()
            settle()
        }
        if unsentCount >= limits.highWater { isFull = true }
        return !isFull
    }

    /// Sends text in UTF-8: see above.
    ///
    /// - Parameter text: The text; an end of a line is not added.
    /// - Returns: Whether there is room for more.
    @discardableResult
    public func send(_ text: String) -> Bool { send(text.utf8) }

    /// Sets what is called when so much was written that no more than `Limits.lowWater` waits, after it was `highWater` or more.
    ///
    /// - Parameter handler: Called on the loop's thread.
    public func onRoom(@_inheritActorContext _ handler: @escaping @Sendable @isolated(any) (Connection) -> Void) {
        loop.require(handler.isolation, for: label)
        roomHandler = Plain.connection(handler)
    }

    /// How many bytes wait to be written.
    public var unsentCount: Int { output.count }

    // MARK: Its end

    /// Whether it was not closed.
    public var isOpen: Bool { source != nil }

    /// Closes the connection now; what waits to be written is lost.
    public func close() { close(.closed) }

    /// Closes the connection when everything was written; nothing is read any more.
    public func closeWhenSent() {
        requireLoop()
        marks.insert(.closesWhenSent)
        hasMoved = true
        if !isServing { settle() }
    }

    /// Says to the peer, when everything was written, that no more will come, and goes on reading.
    public func endSending() {
        requireLoop()
        marks.insert(.endsWhenSent)
        hasMoved = true
        if !isServing { settle() }
    }

    /// Bytes of the program's own that are kept across restarts with the connection, up to some megabytes.
    public var state: [UInt8] {
        didSet {
            hasMoved = true
            if !isServing { keepState() }
        }
    }

    // MARK: Serving

    private func requireLoop() {
        if !loop.isCurrent { fatalError("the connection \"\(label)\" is to be used on the thread of its loop only") }
    }

    private func serve(_ readiness: HostRunLoop.PortSource.Readiness) {
        guard isOpen else { return }
        // Its handler runs the loop: what comes is served when that has returned.
        guard !isServing else {
            source?.interest = []
            return
        }
        isServing = true
        HostRunLoop.addCleanup { [self] in endAbandoned() }
        guard let keeping else {
            serveNow(readiness)
            isServing = false
            return settle()
        }
        // The keeper is there on the main loop only.
        let before = MainActor.assumeIsolated { keeping.keeper.mark.begin(keeping.number) }
        serveNow(readiness)
        isServing = false
        settle()
        MainActor.assumeIsolated { keeping.keeper.mark.end(before) }
    }

    private func serveNow(_ readiness: HostRunLoop.PortSource.Readiness) {
        if let first {
            self.first = nil
            first(self)
        }
        if !readiness.isDisjoint(with: [.readable, .hangUp, .error, .peerClosed]), wantsInput { read() }
        // Answers make room for more answers as long as the peer takes them.
        repeat {
            deliver()
            write()
            noteRoom()
        } while isOpen && unsentCount == 0 && hasInput && hasConsumer && isReading && !closesWhenSent
        guard isOpen, atEnd, !isEndTold, isConsumed else { return }
        isEndTold = true
        taskWait.end()
        endHandler?(self)
    }

    /// What happens after a callout that was abandoned, in a callout of its own: touches little.
    private func endAbandoned() {
        isServing = false
        if let keeping { MainActor.assumeIsolated { keeping.keeper.mark.end(0) } }
        switch onAbandon {
        case .close: close(.abandoned)
        case .keep: settle()
        }
    }

    private var hasConsumer: Bool { lineHandler != nil || bytesHandler != nil || taskWait.isPending }

    /// Whether nobody will take more of what has come.
    private var isConsumed: Bool { !hasInput || !hasConsumer && !isPulled }

    private var wantsInput: Bool { hasConsumer && isReading && !atEnd && !isFull && !closesWhenSent }

    private func read() {
        do throws(Errno) {
            let count = try ReadBuffers.read(descriptor, appendingTo: &input)
            noteMove()
            if count > 0 { hasInput = true } else { atEnd = true }
        } catch .wouldBlock {
        } catch {
            // The peer is gone: nobody waits for the rest. A terminal says so by EIO.
            if error == .ioError { atEnd = true } else { close(.failed(IOError("read from \(label)", error))) }
        }
    }

    /// Gives what has come to whoever wants it, until there is no more, or enough waits to be written.
    private func deliver() {
        while isOpen && hasInput && isReading && !isFull && !closesWhenSent {
            if let bytesHandler {
                hasInput = false
                let bytes = input.takeAll()
                hasMoved = true
                if !bytes.isEmpty { bytesHandler(self, bytes) }
                continue
            }
            if taskWait.isPending { return taskWait.end() }
            guard let lineHandler else { return }
            switch input.next() {
            case .line(let line):
                hasMoved = true
                lineHandler(self, line)
            case .tooLong:
                guard let longLineHandler else {
                    // The lines before it have their answers.
                    write()
                    return close(.lineTooLong)
                }
                longLineHandler(self)
            case nil: hasInput = false
            }
        }
    }

    private func write() {
        guard isOpen else { return }
        do throws(Errno) {
            if try output.write(to: descriptor, isSocket: isSocket, keeping: limits.highWater) { noteMove() }
        } catch {
            close(.failed(IOError("write to \(label)", error)))
        }
    }

    private func noteMove() {
        hasMoved = true
        if idleTimer != nil { lastMove = .now }
    }

    private func noteRoom() {
        guard isOpen, isFull, unsentCount <= limits.lowWater else { return }
        isFull = false
        roomHandler?(self)
    }

    /// Brings what is waited for in line with what is to be done: at the end of everything that changes it.
    private func settle() {
        guard let source else { return }
        if unsentCount == 0 {
            // Who is told of the end may have something to say then, until it has said that it has not.
            let isOver = atEnd && (endHandler == nil || isEndTold && endsWhenSent) && isConsumed
            if closesWhenSent || isOver { return close(.closed) }
            if endsWhenSent { _ = shutdown(descriptor, CInt(SHUT_WR)) }
        }
        var interest: HostRunLoop.PortSource.Interest = []
        let canGive = hasInput && hasConsumer && isReading && !isFull
        if unsentCount > 0 || first != nil || canGive || isFull { interest.insert(.writable) }
        if wantsInput { interest.insert(.readable) }
        if interest != source.interest { source.interest = interest }
        if canGive && !closesWhenSent && !isSocket { serveSoon() }
        keepState()
    }

    /// Has what was read served in a callout of its own: the end of a pipe that is read is never writable (pipe(7)).
    private func serveSoon() {
        guard turn == nil else { return }
        let turn = HostRunLoop.Timer(label: label, after: .zero) { [weak self] _ in
            // First: a timer is valid until its callout is over, and what this serves may ask for another turn.
            self?.turn = nil
            self?.serve([])
        }
        if let source { turn.takePolicies(of: source) }
        self.turn = turn
        loop.add(turn, to: .common)
    }

    private func consumerHasChanged() {
        requireLoop()
        if !isServing { settle() }
    }

    private func keepState() {
        guard hasMoved, isOpen else { return }
        hasMoved = false
        guard let keeping else { return }
        // The common case: nothing there before, and nothing now.
        guard hasState || !input.isEmpty || unsentCount > 0 || !state.isEmpty || !marks.isEmpty else { return }
        let all = ConnectionState(
            input: input,
            output: output.rest,
            program: state,
            marks: marks
        )
        hasState = !all.isEmpty
        MainActor.assumeIsolated { keeping.keeper.set(all, of: keeping.number) }
    }

    private func close(_ ending: Ending) {
        requireLoop()
        guard let source else { return }
        self.source = nil
        source.invalidate()
        idleTimer?.invalidate()
        turn?.invalidate()
        if let keeping { MainActor.assumeIsolated { keeping.keeper.giveUp(keeping.number) } }
        _ = Glibc.close(descriptor)
        let handler = closeHandler
        closing?(self)
        (first, closing, lineHandler, longLineHandler, bytesHandler) = (nil, nil, nil, nil, nil)
        (roomHandler, endHandler, closeHandler) = (nil, nil, nil)
        self.ending = ending
        taskWait.end()
        handler?(self, ending)
    }

    private func watchIdleness() {
        idleTimer?.invalidate()
        idleTimer = nil
        guard let limit = limits.idle, isOpen else { return }
        lastMove = .now
        let timer = HostRunLoop.Timer(label: "\(label) idle", after: limit, repeating: limit) { [weak self] timer in
            guard let self else { return timer.invalidate() }
            let end = lastMove.advanced(by: limit)
            if end <= .now { close(.idle) } else { timer.nextFireDate = end }
        }
        idleTimer = timer
        loop.add(timer, to: .common)
    }

    // MARK: Tasks

    /// The next line for a task on the loop's thread; nil at the end, or when the task is cancelled.
    nonisolated(nonsending) func nextLine() async throws(Ending) -> String? {
        requireLoop()
        isPulled = true
        if isAwaited { fatalError("two tasks wait for lines of the connection \"\(label)\"") }
        isAwaited = true
        defer { isAwaited = false }
        if marks.remove(.isServed) != nil { hasMoved = true }
        while true {
            if let event = input.next() {
                hasMoved = true
                guard case .line(let line) = event else {
                    write()
                    close(.lineTooLong)
                    throw Ending.lineTooLong
                }
                // Before it is served: the next process must not begin with the line that has ended this one.
                marks.insert(.isServed)
                keepState()
                return line
            }
            hasInput = false
            if let ending, ending != .closed { throw ending }
            guard isOpen, !atEnd, !Task.isCancelled else {
                if !isServing { settle() }
                return nil
            }
            await taskWait.wait(settle)
        }
    }
}

extension Connection {
    /// The lines that come, without their ends, for a task on the thread of the connection's loop, such as one of the main actor.
    ///
    /// It ends when the peer sends no more, and throws `Ending` when the connection fails. Nothing is read while no task asks for a line.
    /// One task at a time.
    public var lines: some AsyncSequence<String, Ending> { Lines(connection: self) }

    private struct Lines: AsyncSequence, AsyncIteratorProtocol {
        let connection: Connection

        func makeAsyncIterator() -> Lines { self }

        mutating func next(isolation actor: isolated (any Actor)?) async throws(Ending) -> String? {
            try await connection.nextLine()
        }
    }
}
