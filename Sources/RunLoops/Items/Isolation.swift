/// Turns closures with an isolation into the ordinary functions that a loop keeps and calls.
///
/// A closure takes its isolation from where it is written. In `main.swift` and in `@MainActor` code it belongs to the main actor.
/// In an actor whose executor is a loop it belongs to that actor. Anywhere else it belongs to no actor and may run on any thread.
/// The compiler uses this to check what the closure may touch. `HostRunLoop.require(_:for:)` checks that the loop's thread is the
/// actor's thread; after that the isolation is no longer needed.
///
/// A closure with an isolation has the same layout as one without: the isolation is stored in its context. The structures prevent a
/// thunk: a function passed directly through a generic parameter gets one, and it would add a frame to the backtrace of every
/// fault.
enum Plain {
    typealias Item = HostRunLoop.Item
    typealias Timer = HostRunLoop.Timer
    typealias Source = HostRunLoop.Source
    typealias PortSource = HostRunLoop.PortSource
    typealias Observer = HostRunLoop.Observer

    @inline(__always)
    static func block(_ closure: __owned @escaping @Sendable @isolated(any) () -> Void) -> @Sendable () -> Void {
        struct Isolated { let closure: @Sendable @isolated(any) () -> Void }
        struct Plain { let closure: @Sendable () -> Void }
        return unsafe unsafeBitCast(Isolated(closure: closure), to: Plain.self).closure
    }

    @inline(__always)
    static func timer(
        _ closure: __owned @escaping @Sendable @isolated(any) (Timer) -> Void
    ) -> @Sendable (Timer) -> Void {
        struct Isolated { let closure: @Sendable @isolated(any) (Timer) -> Void }
        struct Plain { let closure: @Sendable (Timer) -> Void }
        return unsafe unsafeBitCast(Isolated(closure: closure), to: Plain.self).closure
    }

    static func source(_ closure: @escaping @Sendable @isolated(any) (Source) -> Void) -> @Sendable (Source) -> Void {
        struct Isolated { let closure: @Sendable @isolated(any) (Source) -> Void }
        struct Plain { let closure: @Sendable (Source) -> Void }
        return unsafe unsafeBitCast(Isolated(closure: closure), to: Plain.self).closure
    }

    static func port(
        _ closure: @escaping @Sendable @isolated(any) (PortSource, PortSource.Readiness) -> Void
    ) -> @Sendable (PortSource, PortSource.Readiness) -> Void {
        struct Isolated { let closure: @Sendable @isolated(any) (PortSource, PortSource.Readiness) -> Void }
        struct Plain { let closure: @Sendable (PortSource, PortSource.Readiness) -> Void }
        return unsafe unsafeBitCast(Isolated(closure: closure), to: Plain.self).closure
    }

    static func observer(
        _ closure: @escaping @Sendable @isolated(any) (Observer, HostRunLoop.Activity) -> Void
    ) -> @Sendable (Observer, HostRunLoop.Activity) -> Void {
        struct Isolated { let closure: @Sendable @isolated(any) (Observer, HostRunLoop.Activity) -> Void }
        struct Plain { let closure: @Sendable (Observer, HostRunLoop.Activity) -> Void }
        return unsafe unsafeBitCast(Isolated(closure: closure), to: Plain.self).closure
    }

    static func timer<Target: AnyObject>(
        _ closure: @escaping @Sendable @isolated(any) (Target, Timer) -> Void
    ) -> @Sendable (Target, Timer) -> Void {
        unsafe unsafeBitCast(IsolatedTargetCall(closure: closure), to: PlainTargetCall<Target>.self).closure
    }

    static func command<Command>(
        _ closure: @escaping @Sendable @isolated(any) (HostRunLoop.CommandSource<Command>, Command) -> Void
    ) -> @Sendable (HostRunLoop.CommandSource<Command>, Command) -> Void {
        unsafe unsafeBitCast(IsolatedCommandHandler(closure: closure), to: PlainCommandHandler<Command>.self).closure
    }

    static func enter<State>(_ closure: @escaping @Sendable @isolated(any) () -> State) -> @Sendable () -> State {
        unsafe unsafeBitCast(IsolatedEnter(closure: closure), to: PlainEnter<State>.self).closure
    }

    static func leave<State>(
        _ closure: @escaping @Sendable @isolated(any) (State) -> Void
    ) -> @Sendable (State) -> Void {
        unsafe unsafeBitCast(IsolatedLeave(closure: closure), to: PlainLeave<State>.self).closure
    }

    static func message(
        _ closure: @escaping @Sendable @isolated(any) (HostRunLoop.Message) -> Void
    ) -> @Sendable (HostRunLoop.Message) -> Void {
        struct Isolated { let closure: @Sendable @isolated(any) (HostRunLoop.Message) -> Void }
        struct Plain { let closure: @Sendable (HostRunLoop.Message) -> Void }
        return unsafe unsafeBitCast(Isolated(closure: closure), to: Plain.self).closure
    }

    static func connectionError(
        _ closure: @escaping @Sendable @isolated(any) (HostRunLoop.ConnectionError) -> Void
    ) -> @Sendable (HostRunLoop.ConnectionError) -> Void {
        struct Isolated { let closure: @Sendable @isolated(any) (HostRunLoop.ConnectionError) -> Void }
        struct Plain { let closure: @Sendable (HostRunLoop.ConnectionError) -> Void }
        return unsafe unsafeBitCast(Isolated(closure: closure), to: Plain.self).closure
    }

    static func answer(
        _ closure: @escaping @Sendable @isolated(any) (HostRunLoop.SendRight.Answer) -> Void
    ) -> @Sendable (HostRunLoop.SendRight.Answer) -> Void {
        struct Isolated { let closure: @Sendable @isolated(any) (HostRunLoop.SendRight.Answer) -> Void }
        struct Plain { let closure: @Sendable (HostRunLoop.SendRight.Answer) -> Void }
        return unsafe unsafeBitCast(Isolated(closure: closure), to: Plain.self).closure
    }
}

// A generic function cannot contain a type.
private struct IsolatedTargetCall<Target: AnyObject> {
    let closure: @Sendable @isolated(any) (Target, HostRunLoop.Timer) -> Void
}
private struct PlainTargetCall<Target: AnyObject> { let closure: @Sendable (Target, HostRunLoop.Timer) -> Void }
private struct IsolatedCommandHandler<Command: Sendable> {
    let closure: @Sendable @isolated(any) (HostRunLoop.CommandSource<Command>, Command) -> Void
}
private struct PlainCommandHandler<Command: Sendable> {
    let closure: @Sendable (HostRunLoop.CommandSource<Command>, Command) -> Void
}
private struct IsolatedEnter<State> { let closure: @Sendable @isolated(any) () -> State }
private struct PlainEnter<State> { let closure: @Sendable () -> State }
private struct IsolatedLeave<State> { let closure: @Sendable @isolated(any) (State) -> Void }
private struct PlainLeave<State> { let closure: @Sendable (State) -> Void }

extension HostRunLoop {
    /// Ends the process if a closure belongs to an actor whose code does not run on this loop's thread.
    ///
    /// - Parameters:
    ///   - isolation: The actor of the closure; `nil` if it may run anywhere.
    ///   - label: The label that a crash report would show for it.
    @inline(__always)
    package func require(_ isolation: (any Actor)?, for label: @autoclosure () -> String) {
        if let isolation, !isThread(of: isolation) {
            Misuse.endProcessForForeignActor(isolation, label(), isMain: isMain)
        }
    }

    @inline(never)
    private func isThread(of actor: any Actor) -> Bool {
        let executor = unsafe Self.identity(actor.unownedExecutor)
        if isMain, unsafe executor == Self.identity(MainActor.sharedUnownedExecutor) { return true }
        return unsafe executor == Self.identity(asUnownedSerialExecutor())
    }

    /// The address of an executor, which is its only identity.
    private static func identity(_ executor: UnownedSerialExecutor) -> UInt {
        unsafe unsafeBitCast(executor, to: (identity: UInt, witnesses: UInt).self).identity
    }
}
