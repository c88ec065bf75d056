/// What is told of abandoned callouts.
extension HostRunLoop {
    /// Sets what is called after a callout of this loop was abandoned, on the loop's thread, outside every callout.
    ///
    /// Without one it is the default handler, and without that either the abandoned stack is buried. The handler should
    /// return soon; it may add, remove, withdraw and invalidate, but not run the loop. A fault in it is not resumed. The
    /// cleanups of the callout run when it has returned. It may refer to the loop: it is released when the loop's thread
    /// ends, and one that is set later is not kept. Callable from any thread.
    ///
    /// - Parameter handler: The handler, or `nil` for the default one.
    public func setAbandonHandler(_ handler: (@Sendable (AbandonedCallout) -> Void)?) {
        let old = lock.withLock {
            let old = abandonHandler
            abandonHandler = isTornDown ? nil : handler
            return old
        }
        // Released here, after unlocking.
        _ = old
    }

    /// Sets what is called after a callout of a loop without a handler of its own was abandoned, on that loop's thread.
    ///
    /// It is for the loops of all threads, those that are made later among them: `AbandonedCallout.loop` says which one it
    /// was. What holds for a loop's own handler holds for this one. It may be called on several threads at a time. Callable
    /// from any thread.
    ///
    /// - Parameter handler: The handler, or `nil` to bury the stacks.
    public static func setDefaultAbandonHandler(_ handler: (@Sendable (AbandonedCallout) -> Void)?) {
        SharedAbandonHandler.byDefault.set(handler)
    }

    /// Sets what is called after a callout of any loop was abandoned, before the handler, whichever that is.
    ///
    /// For the host of the process, whose bookkeeping must not depend on whether a loop has a handler of its own. What holds
    /// for a handler holds for it; what it buries is buried. Callable from any thread.
    ///
    /// - Parameter witness: The witness, or `nil` for none.
    public static func setAbandonWitness(_ witness: (@Sendable (AbandonedCallout) -> Void)?) {
        SharedAbandonHandler.witness.set(witness)
    }

    /// Tells whoever is to be told of an abandoned callout of this loop.
    func tell(of callout: AbandonedCallout) {
        SharedAbandonHandler.witness.present?(callout)
        if let handler = presentAbandonHandler {
            handler(callout)
        } else {
            callout.stack.bury()
        }
    }

    /// What is to be told of an abandoned callout of this loop.
    private var presentAbandonHandler: (@Sendable (AbandonedCallout) -> Void)? {
        lock.withLock { abandonHandler } ?? SharedAbandonHandler.byDefault.present
    }
}

/// A handler that is not one loop's.
private final class SharedAbandonHandler: @unchecked Sendable {
    /// That of all loops that have none of their own.
    static let byDefault = SharedAbandonHandler()
    static let witness = SharedAbandonHandler()

    private let lock = CriticalLock()
    /// Protected by `lock`.
    private var handler: (@Sendable (HostRunLoop.AbandonedCallout) -> Void)?

    var present: (@Sendable (HostRunLoop.AbandonedCallout) -> Void)? { lock.withLock { handler } }

    func set(_ new: (@Sendable (HostRunLoop.AbandonedCallout) -> Void)?) {
        let old = lock.withLock {
            let old = handler
            handler = new
            return old
        }
        // Released here, after unlocking.
        _ = old
    }
}
