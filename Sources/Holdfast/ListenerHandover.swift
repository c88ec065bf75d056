internal import CListenerHandover
internal import CrashCapture
internal import Glibc
internal import LinuxSystem
internal import Logging
internal import RunLoops
internal import Synchronization

/// Listening sockets of servers that only open their own, such as Hummingbird's.
///
/// A server that binds an address gets the socket that listens there already: one that a supervisor has handed down, or, in a program with an
/// async `main`, one that the process before a restart had open. Clients in its backlog wait meanwhile, and are served.
@MainActor
final class ListenerHandover {
    /// What the names begin with under which a program's own listening sockets are kept.
    private static let prefix = KeptDescriptors.reserved + "LISTENER "
    /// Whose sockets are kept.
    private static weak var current: ListenerHandover?

    private let kept: KeptDescriptors
    private let logger: Logger
    /// Called when the table of what is kept is there.
    private let tableChanged: @MainActor () -> Void
    /// Whether a supervisor has handed down a socket that a server can bind.
    private(set) var hasHandedDown = false
    /// The sockets of the process before this one that nobody has bound yet.
    private var unclaimed: Set<CInt> = []

    /// Offers what there is to whoever binds its address.
    ///
    /// - Parameters:
    ///   - kept: What was handed over, and where sockets are kept.
    ///   - handedDown: The sockets that a supervisor has handed down.
    ///   - keepsOwn: Whether sockets that the program opens are kept across restarts in place.
    ///   - logger: Is told what nobody wants any more.
    ///   - tableChanged: Called when the table of what is kept has been made.
    init(
        _ kept: KeptDescriptors,
        handedDown: [CInt],
        keepsOwn: Bool,
        logger: Logger,
        tableChanged: @escaping @MainActor () -> Void
    ) {
        self.kept = kept
        self.logger = logger
        self.tableChanged = tableChanged
        for number in handedDown where hf_listeners_offer(number, false) == 0 { hasHandedDown = true }
        for (name, entry) in kept.inherited.entries where name.hasPrefix(Self.prefix) {
            if keepsOwn, hf_listeners_offer(entry.descriptor, true) == 0 {
                unclaimed.insert(entry.descriptor)
            } else {
                try? kept.remove(name)
            }
        }
        guard keepsOwn else { return }
        Self.current = self
        Self.observe()
        guard !unclaimed.isEmpty else { return }
        // For a program that does not say when its servers are there (`EventHost.notifyReady()`).
        let timer = HostRunLoop.Timer(ofHost: "sockets that nobody has bound", fireAt: .now.advanced(by: .seconds(60)))
        {
            [weak self] _ in
            MainActor.assumeIsolated { self?.closeUnclaimed() }
        }
        HostRunLoop.main.add(timer, to: .common)
    }

    /// Not isolated, as its closure must not be: any thread may call listen(2).
    private nonisolated static func observe() {
        hf_listeners_set_observer { descriptor, taken in
            HostRunLoop.main.perform { @MainActor in ListenerHandover.current?.noteListening(descriptor, taken) }
        }
    }

    /// Keeps a socket of the program across restarts in place, as long as it is open.
    private func noteListening(_ descriptor: CInt, _ taken: CInt) {
        let table = kept.tableDescriptor
        // Closed meanwhile, it may be another file's number, which the next process would not take for a socket that listens.
        try? kept.keep(KeptEntry(descriptor: descriptor, state: []), as: Self.prefix + "\(descriptor)")
        if taken >= 0, unclaimed.remove(taken) != nil { try? kept.remove(Self.prefix + "\(taken)") }
        if kept.tableDescriptor != table { tableChanged() }
    }

    /// Closes the sockets of the process before this one that the program has no use for any more: their clients would wait for ever.
    func closeUnclaimed() {
        for number in unclaimed where hf_listeners_withdraw(number) {
            logger.notice(
                "a socket at which the process before this one listened is closed: nobody listens there any more"
            )
            try? kept.remove(Self.prefix + "\(number)")
        }
        unclaimed = []
    }

    /// Notes what `rest()` has to know: when servers accept.
    static func noteWatchers() { hf_listeners_note_watchers() }

    /// Has servers accept no more connections at sockets that others hold, too: another process serves them.
    ///
    /// They are not told, and go on with the connections that they have. Callable from any thread.
    nonisolated static func rest() {
        hasRested.store(true, ordering: .relaxed)
        HostRunLoop.main.perform { @MainActor in restNow() }
    }

    /// The same, on the main loop.
    static func restNow() {
        hasRested.store(true, ordering: .relaxed)
        hf_listeners_rest()
        for handler in resting.withLock({ $0 }) { handler() }
        rested?()
    }

    /// The same before a restart, also at sockets that the program has opened and the next process gets: new clients wait in the backlog until
    /// it serves.
    ///
    /// - Parameter keepsOwn: Whether it gets them.
    static func restBeforeRestart(keepsOwn: Bool) {
        if keepsOwn { current?.restOwn() }
        restNow()
    }

    private func restOwn() {
        for descriptor in kept.openDescriptors(under: Self.prefix) {
            hf_listeners_rest_at(descriptor)
            // A server that is told to rest may close its own.
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
            guard copy >= 0 else { continue }
            try? kept.keep(KeptEntry(descriptor: copy, state: []), as: Self.prefix + "\(copy)")
            try? kept.remove(Self.prefix + "\(descriptor)")
        }
    }

    /// Called on the main loop when that was done.
    static var rested: (@MainActor () -> Void)?

    /// Called on the main loop when it was told to.
    nonisolated static let resting = Mutex<[@Sendable () -> Void]>([])

    /// Whether it was told to.
    nonisolated static let hasRested = Atomic<Bool>(false)

    /// Ends the connections of an event loop whose thread stands still for good: nobody will answer their clients.
    nonisolated static func endConnections(ofThread thread: CInt) -> CInt {
        thread > 0 ? hf_epoll_end_connections(thread) : 0
    }

    /// The part of `rest()` that needs nobody: what `noteWatchers()` has noted.
    ///
    /// On the crash thread: it allocates nothing, and waits for no lock.
    nonisolated static func restWhatIsNoted() { hf_listeners_rest_noted() }

    /// Whether a thread is an event loop, which waits for events with epoll(7).
    nonisolated static func isEventLoop(thread: CInt) -> Bool { hf_epoll_is_loop(thread) }

    /// Ends connections that were accepted for an event loop that stands still, and that no other one watches.
    ///
    /// To be called twice, some milliseconds apart, after `rest()`: those that are found both times are ended. On the main loop.
    static func endUnwatchedConnections() -> CInt { hf_epoll_end_unwatched_connections() }

    /// Ends all connections over a network, because the process ends in a moment and another one serves.
    nonisolated static func endConnections() { hf_end_connections() }

    /// Gives nothing more away, and keeps nothing more.
    func close() {
        hf_listeners_set_observer(nil)
        Self.current = nil
    }
}

/// Holds back servers that would take a socket that was handed down, while the process stands by.
///
/// They wait where they call bind(2), so everything that they do before is done when the process is told to serve.
enum ListenerGate {
    /// Who waits, and what is to be done when the first one does; nil while nobody is held back.
    private struct Closed {
        var waiters: [Semaphore] = []
        var reached: (@Sendable () -> Void)?
    }

    private static let closed = Mutex<Closed?>(nil)

    /// Holds servers back from now on.
    ///
    /// - Parameter reached: Called once, on the thread of the first one.
    static func close(reached: @escaping @Sendable () -> Void) {
        closed.withLock { $0 = Closed(reached: reached) }
        hf_listeners_set_gate { ListenerGate.wait() }
    }

    /// Lets them go on.
    static func open() {
        hf_listeners_set_gate(nil)
        let waiters = closed.withLock { closed in
            defer { closed = nil }
            return closed?.waiters ?? []
        }
        for waiter in waiters { waiter.signal() }
    }

    private static func wait() {
        let semaphore = Semaphore()
        let (isHeld, reached) = closed.withLock { closed in
            closed?.waiters.append(semaphore)
            return (closed != nil, closed?.reached.take() ?? nil)
        }
        reached?()
        if isHeld { semaphore.wait() }
    }
}
