extension HostRunLoop {
    /// What is to be done if the callout that registered it faults and is abandoned: LLVM's `CrashRecoveryContextCleanup`.
    ///
    /// In an abandoned callout nothing is unwound: neither `defer` nor `deinit` runs. A cleanup gives back what would be lost
    /// otherwise: a descriptor, a place in a table, a lock file. It belongs to the innermost callout of the thread that
    /// registers it and is dropped, unrun, when that returns. When that is abandoned, all of its cleanups run once each, the
    /// newest first, on the loop's thread, after the abandon handler and before any other item is served. Each is a callout
    /// of its own: one that faults costs only itself.
    ///
    /// A cleanup finds what it works on as the fault left it: it should touch little. To be used on the thread of the
    /// callout.
    public struct Cleanup {
        fileprivate let attachment: CalloutAttachment

        /// Whether it is registered with a callout that still runs.
        public var isRegistered: Bool { attachment.isAttached }

        /// Takes it back, so that it does not run.
        ///
        /// Nothing happens when its callout has ended.
        public func cancel() { attachment.detach() }
    }

    /// Registers what is to be done if the running callout is abandoned.
    ///
    /// To be called in a callout, on its thread. Elsewhere nothing can be abandoned, and what is returned never runs: it is
    /// not registered. Costs an allocation or two.
    ///
    /// - Parameter action: What is to be done: called on the loop's thread, once at most.
    /// - Returns: A token to take it back, which need not be kept.
    @discardableResult
    public static func addCleanup(_ action: @escaping () -> Void) -> Cleanup {
        register(CalloutAttachment(action))
    }

    /// Puts on record that the running callout is about to change something that a fault may leave half changed.
    ///
    /// The name stands in the crash record and in `AbandonedCallout.touched` if the callout is abandoned before the mark is
    /// cancelled, and `poison` runs as a cleanup does: it should make the thing unusable. `Poisonable` does all of this for a
    /// value. To be called in a callout, on its thread; elsewhere the mark is not registered.
    ///
    /// - Parameters:
    ///   - name: What is about to be changed.
    ///   - poison: Makes it unusable: called on the loop's thread, once at most.
    /// - Returns: The mark: to be cancelled when the change is complete.
    public static func touch(_ name: String, poison: @escaping () -> Void) -> Cleanup {
        register(CalloutAttachment(name: name, poison))
    }

    private static func register(_ attachment: CalloutAttachment) -> Cleanup {
        attachment.attach()
        return Cleanup(attachment: attachment)
    }
}
