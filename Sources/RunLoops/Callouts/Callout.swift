import CRecoveryPoint
import LinuxSystem
import Synchronization

/// The one way from the loop into user code.
extension HostRunLoop {
    /// Calls `body(argument)` on a callout stack above a recovery point.
    ///
    /// Returns when the call has returned or was abandoned; the caller does the same afterwards in both cases. Called on the loop's thread,
    /// without a lock. The caller keeps the item, and with it the label, alive.
    @inline(__always)
    private func callOut(
        _ kind: CalloutKind,
        _ name: borrowing ItemName,
        _ item: UInt64,
        in mode: LoopMode,
        isCleanup: Bool = false,
        isService: Bool = false,
        traits: UInt32 = 0,
        _ argument: UnsafeMutableRawPointer?,
        _ body: HFBody
    ) {
        let outer = progress.prepareCallout()
        defer { progress.endCallout(backTo: outer) }
        guard let stack = unsafe stackPool.take(size: calloutStackSize) else {
            unsafe callOutWithoutStack(argument, body)
            return
        }
        var info = unsafe HFCalloutInfo()
        unsafe info.mode = unsafe mode.cName.pointer
        unsafe info.item = item
        unsafe info.pass = runs.passCount
        unsafe info.kind = kind.recoveryKind
        unsafe info.activity = runs.stage.rawValue
        unsafe info.traits = traits
        unsafe info.nesting = runs.nesting
        unsafe name.describe(&info)
        unsafe hf_loop_event_callout(&info)
        let stageBefore = runs.stage
        progress.beginCallout(item == 0 ? Progress.mainQueueItem : item)
        let outcome = unsafe hf_recovery_run(stack, &info, body, argument)
        progress.leaveCallout()
        // A nested run leaves its own stage behind.
        runs.reach(stageBefore)
        switch outcome {
        case .returned:
            if unsafe stack.pointee.attachments != nil { unsafe CalloutAttachment.dropAll(of: stack) }
            unsafe stackPool.giveBack(stack)
            if isService, serviceWitness != nil { noteService(of: item) }
        case .abandoned:
            unsafe abandon(kind, name, item, in: mode, isCleanup: isCleanup, stack)
        }
    }

    /// Tells the witness of a callout that may have served the program.
    ///
    /// On the loop's thread, after the callout. The main queue is no item, so its callouts have the number 0.
    @inline(never)
    private func noteService(of item: UInt64) {
        guard !Self.isHostsOwn(item: item) else { return }
        serviceWitness?(item == 0)
    }

    /// Calls `body(argument)` without a recovery point, because there is no memory for a callout stack.
    private func callOutWithoutStack(_ argument: UnsafeMutableRawPointer?, _ body: HFBody) {
        // An active recovery point belongs to another callout.
        let suspended = unsafe hf_recovery_suspend()
        unsafe body(argument)
        unsafe hf_recovery_restore(suspended)
    }

    /// Reports an abandoned callout, and then runs its cleanups.
    ///
    /// The stack is never used again.
    @inline(never)
    private func abandon(
        _ kind: CalloutKind,
        _ name: borrowing ItemName,
        _ item: UInt64,
        in mode: LoopMode,
        isCleanup: Bool,
        _ stack: UnsafeMutablePointer<HFCalloutStack>
    ) {
        // The next events must not have a time before the fault.
        hf_loop_events_refresh()
        stackPool.noteLoss()
        // Taken first, because the handler may free the stack's description.
        let attachments = unsafe CalloutAttachment.takeAll(of: stack)
        // Disarms the recovery point of a callout around this one: a `cancel` closure is called inside one.
        let suspended = unsafe hf_recovery_suspend()
        defer { unsafe hf_recovery_restore(suspended) }
        if unsafe jobs.isRunningJob(on: stack) { endJob() }
        let abandoned = AbandonedCallout(
            loop: self,
            kind: kind,
            label: name.text,
            item: item,
            mode: mode.name,
            nesting: nesting,
            pass: passCount,
            activity: runs.stage,
            touched: attachments.compactMap(\.name),
            isCleanup: isCleanup,
            stack: unsafe AbandonedStack(stack)
        )
        tell(of: abandoned)
        for attachment in attachments {
            let argument = unsafe Unmanaged.passUnretained(attachment).toOpaque()
            unsafe callOut(kind, name, item, in: mode, isCleanup: true, argument) { argument in
                guard let argument = unsafe argument else { return }
                unsafe Unmanaged<CalloutAttachment>.fromOpaque(argument).takeUnretainedValue().run()
            }
        }
        withExtendedLifetime(attachments) {}
    }

    // MARK: One for every kind of item

    // The recovery point and the callout refer to the item by address: each function keeps it alive to its own end. So the callout need
    // not count a reference.

    /// Performs a source.
    func callOut(to source: Source, in mode: LoopMode) {
        defer { withExtendedLifetime(source) {} }
        let argument = unsafe Unmanaged.passUnretained(source).toOpaque()
        unsafe callOut(.source, source.name, source.identifier, in: mode, isService: true, argument) { argument in
            guard let argument = unsafe argument else { return }
            unsafe Unmanaged<Source>.fromOpaque(argument)._withUnsafeGuaranteedRef { $0.performNow() }
        }
    }

    /// Fires a timer.
    func callOut(to timer: Timer, in mode: LoopMode) {
        defer { withExtendedLifetime(timer) {} }
        let argument = unsafe Unmanaged.passUnretained(timer).toOpaque()
        unsafe callOut(.timer, timer.name, timer.identifier, in: mode, isService: true, argument) { argument in
            guard let argument = unsafe argument else { return }
            unsafe Unmanaged<Timer>.fromOpaque(argument)._withUnsafeGuaranteedRef { timer in
                timer.perform.with(TimerClosure.self) { $0.call(timer) }
            }
        }
    }

    /// Runs a block.
    func callOut(to block: QueuedBlock, in mode: LoopMode) {
        defer { withExtendedLifetime(block) {} }
        let argument = unsafe Unmanaged.passUnretained(block).toOpaque()
        unsafe callOut(.block, block.name, block.identifier, in: mode, argument) { argument in
            guard let argument = unsafe argument else { return }
            unsafe Unmanaged<QueuedBlock>.fromOpaque(argument)._withUnsafeGuaranteedRef { $0.body() }
        }
    }

    /// Runs a plain block.
    func callOut(to block: consuming PlainBlock, in mode: LoopMode) {
        unsafe withUnsafeMutablePointer(to: &block) { pointer in
            let argument = UnsafeMutableRawPointer(pointer)
            let identifier = blockIdentifiers.next()
            unsafe callOut(.block, plainBlockName, identifier, in: mode, argument) { argument in
                guard let block = unsafe argument?.assumingMemoryBound(to: PlainBlock.self) else { return }
                unsafe block.pointee.closure.with(PlainBlockClosure.self) { $0.call() }
            }
        }
    }

    @unsafe private struct ObserverCall {
        let observer: Unmanaged<Observer>
        let activity: Activity
    }

    /// Tells an observer of a stage.
    func callOut(to observer: Observer, _ activity: Activity, in mode: LoopMode) {
        defer { withExtendedLifetime(observer) {} }
        var call = unsafe ObserverCall(observer: .passUnretained(observer), activity: activity)
        unsafe withUnsafeMutablePointer(to: &call) { pointer in
            let argument = UnsafeMutableRawPointer(pointer)
            unsafe callOut(.observer, observer.name, observer.identifier, in: mode, argument) { argument in
                guard let call = unsafe argument?.assumingMemoryBound(to: ObserverCall.self).pointee else { return }
                unsafe call.observer._withUnsafeGuaranteedRef { unsafe $0.perform($0, call.activity) }
            }
        }
    }

    @unsafe private struct PortCall {
        let source: Unmanaged<PortSource>
        let readiness: PortSource.Readiness
    }

    /// Tells a port source what its descriptor is ready for.
    func callOut(to source: PortSource, _ readiness: PortSource.Readiness, in mode: LoopMode) {
        defer { withExtendedLifetime(source) {} }
        var call = unsafe PortCall(source: .passUnretained(source), readiness: readiness)
        let traits = source.traits
        unsafe withUnsafeMutablePointer(to: &call) { pointer in
            let argument = UnsafeMutableRawPointer(pointer)
            unsafe callOut(
                .port,
                source.name,
                source.identifier,
                in: mode,
                isService: true,
                traits: traits,
                argument
            ) { argument in
                guard let call = unsafe argument?.assumingMemoryBound(to: PortCall.self).pointee else { return }
                unsafe call.source._withUnsafeGuaranteedRef { unsafe $0.perform($0, call.readiness) }
            }
        }
    }

    private struct MembershipCall {
        let closure: @Sendable (HostRunLoop, Mode) -> Void
        let loop: HostRunLoop
        let mode: LoopMode
    }

    /// Calls a source's `schedule` or `cancel` closure.
    ///
    /// On another thread than the loop's, this is a callout of that thread's loop, if one is running, or else an ordinary call.
    func callOut(
        to closure: (@Sendable (HostRunLoop, Mode) -> Void)?,
        of source: Source,
        in mode: LoopMode
    ) {
        guard let closure else { return }
        guard let host = isCurrent ? self : Self.ofCallout else {
            closure(self, mode.name)
            return
        }
        // There may be no run that has noted the thread's state, or a callout may have changed it for a while.
        let outerRun = hf_recovery_begin_run()
        defer {
            hf_recovery_end_run(outerRun)
            withExtendedLifetime(source) {}
        }
        var call = MembershipCall(closure: closure, loop: self, mode: mode)
        unsafe withUnsafeMutablePointer(to: &call) { pointer in
            let argument = UnsafeMutableRawPointer(pointer)
            unsafe host.callOut(.source, source.name, source.identifier, in: mode, argument) { argument in
                guard let call = unsafe argument?.assumingMemoryBound(to: MembershipCall.self).pointee else { return }
                call.closure(call.loop, call.mode.name)
            }
        }
    }

    /// The calling thread's loop, if a callout of it is running.
    private static var ofCallout: HostRunLoop? {
        guard hf_recovery_is_armed() else { return nil }
        return current
    }

    private static let mainQueueName = ItemName("main queue")

    /// Drains the main dispatch queue.
    func callOutToMainQueue(in mode: LoopMode) {
        unsafe callOut(.mainQueue, Self.mainQueueName, 0, in: mode, isService: true, nil) { _ in
            MainDispatchQueue.drain()
        }
    }
}
