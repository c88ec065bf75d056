internal import CrashCapture
internal import Glibc
internal import Logging
internal import RunLoops
internal import Synchronization

/// When nothing would be lost by a restart.
extension EventHost {
    /// Keeps back the restart that `AfterResume.restartWhenQuiet` plans, until the hold is released.
    ///
    /// For work that would be lost with the process and that the host cannot see: a request that another thread serves, an answer that a
    /// task waits for, a pipe. It does not keep back a fault that is not resumed, nor the limit of `AfterResume`, nor `restart()`.
    public func hold() -> Hold {
        holds += 1
        return Hold { [weak self] in self?.holds -= 1 }
    }

    /// Plans a restart, if that is what follows a resumed fault.
    func taint() {
        guard case .restartWhenQuiet(let limit) = configuration.afterResume.value, !isTainted else { return }
        isTainted = true
        // If a fault would not restart the process, a plan does not, either.
        guard configuration.restart != .never else { return }
        if stage != .normal {
            configuration.logger.critical("faults follow each restart; going on without another one")
            return
        }
        configuration.logger.notice(
            "the process restarts as soon as nothing would be lost by it",
            metadata: ["within": "\(limit.inWords)"]
        )
        // Quiet: the loop is about to sleep, and the sweep has found it clean.
        let quiet = HostRunLoop.Observer(ofHost: "restart when quiet", activities: .beforeWaiting) { [weak self] _, _ in
            guard let self, !self.needsSweep, self.loop.nesting == 1, self.isQuiet() else { return }
            // Else the process would write the report of the fault while everybody waits for the next one.
            guard self.writer.isIdle else { return self.writer.whenIdle { [loop = self.loop] in loop.wakeUp() } }
            self.planRestart(mayWait: true)
        }
        loop.add(quiet, to: .default)
        // At the limit: whatever the loop is doing, and however many faults come.
        let late = HostRunLoop.Timer(
            ofHost: "restart at the latest",
            fireAt: .now.advanced(by: limit),
            repeating: .seconds(1)
        ) { [weak self] _ in
            MainActor.assumeIsolated { self?.restartAtTheLatest(after: limit) }
        }
        loop.add(late, to: .common)
    }

    /// Whether nothing would be lost by a restart now, as far as the host can see.
    ///
    /// Asked before each sleep. It first looks at the connection that was found open last, which costs no system call.
    func isQuiet() -> Bool {
        if holds > 0 || BoundaryHost.running.load(ordering: .acquiring) > 0 { return false }
        if let port = openPort, port.isValid, port.isInLoop, isStillOpen(port) { return false }
        openPort = nil
        switch loop.firstOpenWork(isOpenWork: isOpenWork(_:)) {
        case .port(let port):
            openPort = port
            return false
        case .block, .source, .job: return false
        case nil: return true
        }
    }

    /// Whether a port that had an open connection still has it; it is one until its port goes.
    private func isStillOpen(_ port: HostRunLoop.PortSource) -> Bool {
        !isHandedOver(port.number) && port.hasOpenWork?() != false
    }

    private func isOpenWork(_ port: HostRunLoop.PortSource) -> Bool {
        if isHandedOver(port.number) { return false }
        return port.hasOpenWork?() ?? OpenConnection.isOne(port.number)
    }

    /// Whether the next process gets a descriptor, so that it stays open.
    private func isHandedOver(_ descriptor: CInt) -> Bool {
        // A process that an outer supervisor starts gets none.
        guard configuration.restart == .inPlace || notifier.link.hasSuccessor else { return false }
        return descriptor <= STDERR_FILENO || kept.keeps(descriptor)
    }

    private func restartAtTheLatest(after limit: Duration) {
        if drain == nil, restartRefusedUntil <= .now, !isQuiet() {
            configuration.logger.warning(
                "never quiet since the fault that was resumed: restarting all the same, what is open is lost",
                metadata: ["after": "\(limit.inWords)", "open": "\(openWork)"]
            )
        }
        planRestart(mayWait: false)
    }

    /// The open work, in words.
    var openWork: String {
        if holds > 0 { return "\(holds) holds" }
        let boundaries = BoundaryHost.running.load(ordering: .acquiring)
        if boundaries > 0 { return "\(boundaries) fault boundaries" }
        return switch loop.firstOpenWork(isOpenWork: isOpenWork(_:)) {
        case .port(let port): "the connection of port \"\(port.label)\", and perhaps others"
        case .source(let label): "source \"\(label)\""
        case .block(let label): "\"\(label)\""
        case .job: "a task"
        case nil: "nothing any more"
        }
    }

    /// Lets the main loop drain, then replaces the process.
    ///
    /// - Parameter mayWait: Whether there is time to wait for work that has come meanwhile, if no handler was told of an end.
    private func planRestart(mayWait: Bool) {
        // A process that is about to end needs no successor.
        guard restartRefusedUntil <= .now, SignalEvents.dueOrder == nil else { return }
        startDrain(.planned, until: .now.advanced(by: configuration.advanced.drainDeadline)) { [self] in
            drain = nil
            if mayWait, drainHandlers.all.isEmpty, !isQuiet() { return }
            mustRestart = true
            endRun()
        }
    }
}

/// Which descriptors lead to somebody who would notice that this process has ended.
enum OpenConnection {
    /// Whether a descriptor is a connection: a socket for a stream or for packets in order that does not listen.
    ///
    /// Callable from any thread. Others are none: what a process makes for itself (eventfd, timerfd, inotify) is made anew by the next
    /// one; most pipes lead back into the process; a listening socket has no peer, and a datagram socket no connection.
    static func isOne(_ descriptor: CInt) -> Bool {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return false }
        guard let type = option(SO_TYPE, of: descriptor) else { return false }
        guard type == CInt(SOCK_STREAM.rawValue) || type == CInt(SOCK_SEQPACKET.rawValue) else { return false }
        return option(SO_ACCEPTCONN, of: descriptor) == 0
    }

    private static func option(_ name: CInt, of descriptor: CInt) -> CInt? {
        var value: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        return unsafe getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
    }
}
