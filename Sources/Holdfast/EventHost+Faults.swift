internal import CrashCapture
internal import Glibc
internal import Logging
internal import RunLoops
internal import TaskBoundaries

extension EventHost {
    /// The host's counters.
    public var statistics: Statistics {
        Statistics(
            resumedFaults: supervisor.resumedFaults,
            buriedBytes: buried.value,
            lostDescriptors: supervisor.lostDescriptors,
            stalls: stallWatch.watch?.reporter.count ?? 0,
            dropped: droppedElements.value,
            ticks: stallWatch.watch?.ticks?.statistics
        )
    }

    /// Adds a handler that is called on the main loop for every message of a fault: a callout was abandoned, its item was taken
    /// out of its loop, or a thread stands still and the process drains.
    ///
    /// - Parameter handler: The handler.
    /// - Returns: An observation, which gives the handler up.
    @discardableResult
    public func onFault(_ handler: @escaping @MainActor (CrashMessage) -> Void) -> Observation {
        faultHandlers.add(handler)
    }

    // MARK: Quarantine

    /// The labels of the items that are in quarantine.
    package var quarantinedLabels: [String] { ward.labels }

    private func dischargeDueItems() {
        while let item = supervisor.takeDueItem() {
            configuration.logger.notice(
                "an item is tried again after its quarantine",
                metadata: ["item": "\(ward.label(of: item) ?? "gone")"]
            )
            ward.discharge(item)
        }
        scheduleDischarge()
    }

    private func scheduleDischarge() {
        dischargeTimer?.invalidate()
        dischargeTimer = nil
        guard let wait = supervisor.timeToNextDueItem else { return }
        let timer = HostRunLoop.Timer(ofHost: "end of a quarantine", fireAt: .now.advanced(by: wait)) { [weak self] _ in
            MainActor.assumeIsolated { self?.dischargeDueItems() }
        }
        dischargeTimer = timer
        loop.add(timer, to: .common)
    }

    // MARK: Messages

    func receive(_ message: CrashMessage) {
        // An item of another thread's loop: that thread is between the abandoned callout and the abandon handler. Unless its quarantine was
        // over before this message of its beginning was served. A label looks by itself whether it is.
        if case .quarantined = message.event, !message.isInBoundary, !ward.knows(message.item),
            supervisor.isQuarantined(item: message.item)
        {
            return supervisor.post(message)
        }
        var message = message
        message.words = CrashMessage.Words { [teller] number in teller.known(ofFault: number) }
        switch message.event {
        case .resumed:
            expectLine(of: message)
            recover(from: message)
        case .quarantined:
            expectLine(of: message)
            scheduleDischarge()
            recover(from: message)
        case .draining(let deadline):
            // First: whoever comes is the next process's, if one stands by.
            let requests = releaseStandby(afterFaultOf: message.thread)
            // It may be one of those that run tasks, and what drains may need as many as ever.
            TaskPool.replace(parkedThread: message.thread)
            noteTags(of: message)
            tellReplacement(message)
            drainAfterFault(until: deadline, parkedThread: message.thread, requests: requests)
        }
        guard message.item == 0 || message.item != supervisor.portItem else {
            configuration.logger.error("a handler of faults faulted itself; it is not told")
            return
        }
        for handler in faultHandlers.all { handler(message) }
    }

    /// Puts into the record of a fault whose work it was, if it was in a boundary: nobody else will tell.
    private func noteTags(of message: CrashMessage) {
        guard let tags = TaskBoundaries.FaultBoundary.running(onThread: message.thread)?.tags else { return }
        let isDone = Semaphore()
        // On another thread: what the faulted one holds might be waited for, for ever.
        Task.detached { [capture] in
            let told = FaultDetails.tags(tags(), CrashContext.redaction)
            capture.setTags(FaultDetails.bytes(of: told), ofFault: message.number)
            isDone.signal()
        }
        isDone.wait(atMost: .milliseconds(100))
    }

    /// Says that the process will be replaced because of a fault.
    private func tellReplacement(_ message: CrashMessage) {
        // The next process makes its report.
        let end = isWaiting ? "restarts when its wait is over" : "restarts when it has drained"
        let time = isStopping || SignalEvents.ownOrder != nil ? "ends" : end
        // If one incident hits many threads, the first is logged; the next process has a line of each.
        let level: Logger.Level = isReplacementTold ? .debug : .critical
        isReplacementTold = true
        configuration.logger.log(level: level, "\(message); the process \(time)")
    }

    /// Makes sure that the log soon has a line of a fault, even if the report writer waits for a disk.
    private func expectLine(of message: CrashMessage) {
        guard !teller.hasTold(ofFault: message.number), lateLine?.isValid != true else { return }
        let late = HostRunLoop.Timer(ofHost: "late line of a fault", fireAt: .now.advanced(by: .seconds(2))) {
            [weak self, teller] _ in
            if !teller.hasTold(ofFault: message.number) { teller.tellLate(message) }
            MainActor.assumeIsolated { self?.lateLine = nil }
        }
        lateLine = late
        loop.add(late, to: .common)
    }

    private func recover(from message: CrashMessage) {
        if let open = DescriptorCensus.openDescriptors() {
            supervisor.noteDescriptors(census.lost(open: open, watched: loop.watchedDescriptors))
        }
        taint()
        // No loop ran it.
        guard !message.isInBoundary else { return }
        // Loops of other threads continue their run: they have one mode, and nobody sweeps them.
        needsSweep = true
        // The sweep runs all modes, so it begins where no run is active: at the top. A nested run belongs to the program: the observer
        // waits until it has ended.
        if loop.nesting == 1 {
            loop.stop()
        } else {
            stopAtTop()
        }
    }
}
