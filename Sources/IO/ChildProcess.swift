internal import CLinuxShims
internal import Glibc
public import Holdfast
internal import LinuxSystem
public import RunLoops
public import SystemPackage

/// A process that this one has started, and whose end the loop tells of.
///
/// It begins with no signal blocked or ignored, and with no descriptor but its standard three. Its end is taken from the kernel as soon as
/// it comes, so that no zombie is left; the loop holds this object until then. Everything here is to be used on the thread of its loop.
///
/// A restart in place does not end it: it stays a child of the same process. The next process finds it again where a host keeps it
/// (`init(_:keptBy:as:)`); any other child is to be ended in `EventHost.onRestart(_:)`.
public final class ChildProcess: @unchecked Sendable {
    /// How a process has ended.
    public enum Status: Error, Sendable, Hashable {
        /// By itself, with an exit status.
        case exited(CInt)
        /// By a signal.
        case signalled(CInt)
        /// Somebody else has taken its end, for example a `waitpid(-1)` elsewhere in the process.
        case unknown
    }

    /// What a standard descriptor of a child is.
    public enum Stream: Sendable {
        /// That of this process.
        case inherit
        /// /dev/null.
        case null
        /// The end of a pipe; the other is `input`, `output` or `errors`.
        case pipe
        /// A descriptor, which is not closed here.
        case descriptor(FileDescriptor)
    }

    /// What is started, and with what.
    public struct Command: Sendable {
        /// The program; a name without a slash is looked for in `PATH`.
        package var program: String
        /// Its arguments, without its name.
        package var arguments: [String]
        /// Its environment; `nil` for that of this process.
        public var environment: [String: String]?
        /// Where it works; `nil` for where this process does.
        public var directory: String?
        /// Its standard input.
        public var input = Stream.null
        /// Its standard output.
        public var output = Stream.inherit
        /// Its standard error.
        public var errors = Stream.inherit
        /// Whether it leads a process group of its own: then signals of a terminal do not reach it, and `signal(_:)` reaches the group.
        public var leadsGroup = false

        /// Makes a command with the streams above.
        ///
        /// - Parameters:
        ///   - program: The program.
        ///   - arguments: Its arguments, without its name.
        public init(_ program: String, _ arguments: [String] = []) {
            self.program = program
            self.arguments = arguments
        }
    }

    /// Its number.
    public let pid: CInt
    /// What it reads, where `Command.input` is a pipe.
    public private(set) var input: Connection?
    /// What it writes, where `Command.output` is a pipe.
    public private(set) var output: Connection?
    /// What it writes to standard error, where `Command.errors` is a pipe.
    public private(set) var errors: Connection?
    /// Whether a process before this one has started it (`init(_:keptBy:as:)`).
    public let isTakenOver: Bool
    /// Whether its end was not taken yet: true until the callout that calls `onExit`, also for one that has just ended.
    public var isRunning: Bool { status == nil }
    /// How it has ended; `nil` while it runs.
    package private(set) var status: Status?
    /// The loop that tells of its end.
    package let loop: HostRunLoop

    private let label: String
    private let descriptor: CInt
    private let leadsGroup: Bool
    private let keeping: (host: EventHost, name: String)?
    private var source: HostRunLoop.PortSource?
    private var killer: HostRunLoop.Timer?
    private var handler: (@Sendable (ChildProcess, Status) -> Void)?

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - command: What to start.
    ///   - loop: The loop that tells of its end.
    /// - Throws: `IOError`.
    public convenience init(_ command: Command, on loop: HostRunLoop = .main) throws(IOError) {
        try self.init(starting: command, loop, nil)
    }

    /// Finds the process again that this one has started before a restart in place, or starts it.
    ///
    /// One that was found has no pipes: they ended with the restart.
    ///
    /// - Parameters:
    ///   - command: What to start if none was kept, also if it has ended and its end was taken.
    ///   - host: Who keeps it; its main loop tells of its end.
    ///   - name: Under what it is kept.
    /// - Throws: `IOError`.
    @MainActor
    public convenience init(_ command: Command, keptBy host: EventHost, as name: String) throws(IOError) {
        if let descriptor = host.keptDescriptor(named: name)?.rawValue, let text = host.keptState(named: name),
            let pid = CInt(String(decoding: text, as: UTF8.self))
        {
            try self.init(pid, descriptor, command, host.loop, (host, name), isTakenOver: true)
        } else {
            try self.init(starting: command, host.loop, (host, name))
            do {
                try host.keepAcrossRestart(FileDescriptor(rawValue: descriptor), as: name, state: Array("\(pid)".utf8))
            } catch {
                throw IOError("keep \(command.program): \(error)", .badFileDescriptor)
            }
        }
    }

    private convenience init(
        starting command: Command,
        _ loop: HostRunLoop,
        _ keeping: (EventHost, String)?
    ) throws(IOError) {
        var pipes = try ChildPipes(for: command)
        let pid = try command.start(streams: pipes.ofChild)
        let descriptor = hf_pidfd_open(pid)
        guard descriptor >= 0 else { throw IOError("watch \(command.program)", Errno(rawValue: errno)) }
        try self.init(pid, descriptor, command, loop, keeping, isTakenOver: false)
        input = try pipes.takeConnection(0, "\(label) input", loop)
        output = try pipes.takeConnection(1, "\(label) output", loop)
        errors = try pipes.takeConnection(2, "\(label) errors", loop)
    }

    private init(
        _ pid: CInt,
        _ descriptor: CInt,
        _ command: Command,
        _ loop: HostRunLoop,
        _ keeping: (EventHost, String)?,
        isTakenOver: Bool
    ) throws(IOError) {
        self.pid = pid
        self.isTakenOver = isTakenOver
        self.descriptor = descriptor
        self.loop = loop
        self.keeping = keeping
        label = "\(command.program) \(pid)"
        leadsGroup = command.leadsGroup
        source = try loop.serve(
            .init(label: label, descriptor: FileDescriptor(rawValue: descriptor)) { [self] _, _ in end() },
            for: "watch \(label)"
        )
    }

    // MARK: Its end

    /// Sets what is called when it has ended, instead of what was set before.
    ///
    /// If it has ended already, the handler is called soon, in a callout of the loop.
    ///
    /// - Parameter handler: Called on the loop's thread, once.
    public func onExit(
        @_inheritActorContext _ handler: @escaping @Sendable @isolated(any) (ChildProcess, Status) -> Void
    ) {
        loop.require(handler.isolation, for: label)
        requireLoop()
        self.handler = Plain.exit(handler)
        guard status != nil else { return }
        let told = HostRunLoop.Timer(label: label, after: .zero) { [self] _ in tell() }
        loop.add(told, to: .common)
    }

    /// Sends a signal to it, or to the group that it leads.
    ///
    /// Nothing happens when it has ended.
    ///
    /// - Parameter signal: The number, such as `SIGHUP`.
    public func signal(_ signal: CInt) {
        requireLoop()
        guard status == nil, source != nil else { return }
        if leadsGroup { _ = kill(-pid, signal) } else { _ = hf_pidfd_signal(descriptor, signal) }
    }

    /// Sends SIGTERM, and SIGKILL if it has not ended then.
    ///
    /// Nothing happens when it has ended.
    ///
    /// - Parameter limit: How long it may take to end by itself.
    public func terminate(within limit: Duration = .seconds(10)) {
        signal(SIGTERM)
        guard status == nil, killer == nil else { return }
        let timer = HostRunLoop.Timer(label: "\(label) is to end", after: limit) { [weak self] _ in
            self?.signal(SIGKILL)
        }
        killer = timer
        loop.add(timer, to: .common)
    }

    private func requireLoop() {
        if !loop.isCurrent { fatalError("the child \"\(label)\" is to be used on the thread of its loop only") }
    }

    private func end() {
        guard let source else { return }
        var code: CInt = 0
        var isSignal = false
        let result = unsafe hf_pidfd_wait(descriptor, &code, &isSignal)
        guard result != 0 else { return }
        status = result < 0 ? .unknown : isSignal ? .signalled(code) : .exited(code)
        killer?.invalidate()
        self.source = nil
        source.invalidate()
        if let keeping {
            MainActor.assumeIsolated { try? keeping.host.keepAcrossRestart(nil, as: keeping.name) }
        }
        _ = close(descriptor)
        tell()
    }

    private func tell() {
        guard let handler, let status else { return }
        self.handler = nil
        handler(self, status)
    }
}
