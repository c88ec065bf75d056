internal import CrashCapture
internal import Glibc
internal import LinuxSystem
internal import Logging
internal import RunLoops
public import SystemPackage

/// What is kept moves to the process that takes over from this one: `holdfast upgrade`, `holdfast run --standby`.
extension EventHost {
    /// Adds a handler of what the process before this one kept (`keepAcrossRestart(_:as:state:)`), and hands over while this one runs
    /// already: after `holdfast upgrade`, or when this one has stood by.
    ///
    /// To be added before `run()`, in an async program before its server starts: a process without one takes nothing over when it has stood by.
    ///
    /// The descriptor belongs to the handler that takes it, and is not kept until the program keeps it again, under any name: the two processes
    /// may have given the same one. What no handler takes is closed. It is called until the process ends.
    ///
    /// - Parameter handler: Gets the name, the descriptor, closed on exec, and the bytes. Returns whether it takes the descriptor.
    public func onHandOver(_ handler: @escaping @MainActor (String, FileDescriptor, [UInt8]) -> Bool) {
        receivers.append(handler)
    }

    /// After each change of what is kept: it may have been told of its successor before it kept anything.
    func leaveIfSucceeded() {
        if notifier.link.hasSuccessor { leaveToSuccessor() }
    }

    func receive(_ entry: KeptEntry, named name: String) {
        let descriptor = FileDescriptor(rawValue: entry.descriptor)
        if receivers.contains(where: { $0(name, descriptor, entry.state) }) { return }
        configuration.logger.notice(
            "nobody takes what the process before this one hands over: it is closed",
            metadata: ["name": "\(name)"]
        )
        _ = Glibc.close(entry.descriptor)
    }

    /// Prepares the end of this process, to which another one has succeeded.
    ///
    /// Without something to hand over the supervisor's signal ends it, as ever.
    func leaveToSuccessor() {
        guard !kept.isEmpty, !isStopping, !isLeaving else { return }
        isLeaving = true
        notifier.noteHandOver()
        ListenerHandover.rest()
        let limit = configuration.advanced.drainDeadline
        configuration.logger.notice(
            "another process has taken over: handing over as soon as nothing would be lost by it",
            metadata: ["within": "\(limit.inWords)"]
        )
        let quiet = HostRunLoop.Observer(ofHost: "hand over when quiet", activities: .beforeWaiting) {
            [weak self] observer, _ in
            guard let self, !self.needsSweep, self.loop.nesting == 1, self.isQuiet() else { return }
            observer.invalidate()
            self.drainForSuccessor()
        }
        loop.add(quiet, to: .default)
        let late = HostRunLoop.Timer(ofHost: "hand over at the latest", fireAt: .now.advanced(by: limit)) {
            [weak self] _ in
            MainActor.assumeIsolated { self?.handOverAtTheLatest(after: limit) }
        }
        loop.add(late, to: .common)
        // The observer is asked before the next sleep.
        loop.wakeUp()
    }

    private func handOverAtTheLatest(after limit: Duration) {
        if drain == nil, !isQuiet() {
            configuration.logger.warning(
                "never quiet since another process has taken over: handing over all the same, what is open is lost",
                metadata: ["after": "\(limit.inWords)", "open": "\(openWork)"]
            )
        }
        drainForSuccessor()
    }

    private func drainForSuccessor() {
        startDrain(.planned, until: .now.advanced(by: configuration.advanced.drainDeadline)) { [self] in
            mustRestart = true
            endRun()
        }
    }

    /// Hands over, and ends the process.
    func endForSuccessor() {
        handOver()
        CrashCapture.leaveProcessors()
        endProcess(with: 0)
    }

    /// Ends the process for one that takes its place, with a status, or as it was told to end: whoever starts the next one by the status does
    /// not know of the order.
    func endProcess(with status: CInt) -> Never {
        let order = SignalEvents.dueOrder
        close()
        if let order { SignalEvents.end(by: order) }
        exit(status)
    }

    /// Sends what is kept to the process that has taken over, if there is one.
    ///
    /// Here its descriptors are /dev/null from then on.
    func handOver() {
        // The signal that ends this process may be served before what was sent earlier.
        notifier.link.receiveAll()
        guard notifier.link.hasSuccessor else { return }
        let entries = kept.openEntries
        let count = notifier.link.handOver(entries, within: .seconds(2))
        if count > 0 { configuration.logger.notice("handed over what was kept", metadata: ["count": "\(count)"]) }
        giveAway(entries.prefix(count))
        guard count < entries.count else { return }
        configuration.logger.error(
            "the process that has taken over does not take what is kept: it ends with this one",
            metadata: ["count": "\(entries.count - count)"]
        )
    }

    /// Has what the program does on its way to the end do nothing to what is another's now: here it is /dev/null from then on.
    func giveAway(_ entries: some Sequence<(name: String, entry: KeptEntry)>) {
        let nothing = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        guard nothing >= 0 else { return }
        for (_, entry) in entries { _ = PacketSocket.replace(entry.descriptor, with: nothing) }
        _ = Glibc.close(nothing)
    }

    // MARK: What comes for a process that ends

    /// Says that this process serves, and keeps the link by which another may hand over to it: a fault would lose what is on its way.
    func tellReady() {
        notifier.noteReady(on: loop)
        goOn(with: kept.takeLinks())
    }

    /// Takes what others send to processes before this one, and keeps all links.
    private func goOn(with ends: [CInt]) {
        guard !receivers.isEmpty else {
            for end in ends {
                kept.giveUpLink(end)
                _ = Glibc.close(end)
            }
            return
        }
        for end in ends { notifier.link.goOn(with: end, on: loop) }
        let table = kept.tableDescriptor
        for end in notifier.link.ends { kept.keepLink(end) }
        if kept.tableDescriptor != table { prepareRestart(isHealthy: isHealthy) } else { offerStandby() }
    }

    /// Whether another process may still hand something over to this one, or to one before it.
    var mayTakeOver: Bool {
        guard !receivers.isEmpty else { return false }
        return notifier.link.hasFormer || notifier.link.hasOwn && predecessor.map { kill($0, 0) == 0 } == true
    }

    // MARK: A process that stands by

    /// Has the fault handlers tell the process that stands by, if there is one, and hand over what is kept, if it takes that.
    func offerStandby() {
        notifier.noteKeeping(!kept.isEmpty)
        standby?.offer(to: capture, keeps: !kept.isEmpty || mayTakeOver, link: notifier.link.hasStandby)
    }

    /// Takes what the fault handler of the process before this one has handed over, now that this one serves.
    func receiveHanded() {
        guard let handed = notifier.link.takeHanded() else { return }
        // In a callout: the program's handlers may fault.
        loop.perform { @MainActor [weak self] in
            for (name, entry) in handed.entries where !KeptDescriptors.isLink(name) {
                self?.receive(entry, named: name)
            }
            let links = handed.entries.filter { KeptDescriptors.isLink($0.name) }.map(\.entry.descriptor)
            // In a callout of its own: handlers may look at what has come together in another one (`Keeper`).
            if !links.isEmpty { self?.loop.perform { @MainActor in self?.goOn(with: links) } }
            self?.doLater("log what was taken over") { $0.logTaking(handed) }
        }
    }

    /// Does what nobody waits for 2 ms later, when most are answered who have waited for this process: it wakes the supervisor, which would use
    /// the processors before them.
    func doLater(_ label: String, _ body: @escaping @MainActor (EventHost) -> Void) {
        let timer = HostRunLoop.Timer(ofHost: label, fireAt: .now.advanced(by: .milliseconds(2))) { [weak self] _ in
            MainActor.assumeIsolated { if let self { body(self) } }
        }
        loop.add(timer, to: .common)
    }

    private func logTaking(_ handed: HandedTable) {
        let logger = configuration.logger
        let count = handed.entries.count { !KeptDescriptors.isLink($0.name) }
        logger.notice("took over what was kept", metadata: ["count": "\(count)"])
        for name in handed.missing where !name.hasPrefix(KeptDescriptors.reserved) {
            logger.error("a kept descriptor did not come: it was closed before, or lost", metadata: ["name": "\(name)"])
        }
    }
}
