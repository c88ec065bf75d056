import CRecoveryPoint

/// An action registered by a running callout in case it is abandoned; each callout has a list of them, newest first.
///
/// The list begins in the callout's stack, so a callout without attachments only checks one word. An attachment belongs to the
/// innermost callout of the thread. It is detached, or dropped when the callout returns, or taken and run when the callout is
/// abandoned. Only the thread of the callout touches it.
@safe
final class CalloutAttachment {
    private let action: () -> Void
    /// The note that a fault handler records while this is attached.
    private let note: UnsafeMutablePointer<HFCalloutNote>?

    /// The recovery point of its callout, which stays at this address until the callout has ended.
    private var point: UnsafeMutablePointer<HFRecoveryPoint>?
    private var older: CalloutAttachment?
    private unowned(unsafe) var newer: CalloutAttachment?

    /// Makes one that belongs to no callout yet.
    ///
    /// - Parameters:
    ///   - name: What the action makes unusable, for records and handlers; `nil` for a plain cleanup.
    ///   - action: What is done if the callout is abandoned.
    init(name: String? = nil, _ action: @escaping () -> Void) {
        self.action = action
        guard let name else {
            unsafe note = nil
            return
        }
        let note = UnsafeMutablePointer<HFCalloutNote>.allocate(capacity: 1)
        unsafe note.initialize(to: HFCalloutNote(text: CName.copy(name), next: nil))
        unsafe self.note = note
    }

    deinit {
        guard let note = unsafe note else { return }
        unsafe CName.free(note.pointee.text)
        unsafe note.deallocate()
    }

    /// The name of the thing that it marks as touched.
    var name: String? { unsafe note.map { unsafe String(cString: $0.pointee.text) } }

    /// Whether its callout is still running.
    var isAttached: Bool { unsafe point != nil }

    /// Runs the action.
    func run() { action() }

    // MARK: The list

    /// Registers it with the innermost callout that runs on this thread, if there is one.
    func attach() {
        assert(!isAttached)
        guard let point = unsafe hf_recovery_current() else { return }
        // The change is a critical section: a thread that is interrupted in it is not abandoned there.
        hf_critical_enter()
        defer { hf_critical_leave() }
        let stack = unsafe point.pointee.stack
        if let first = unsafe stack.pointee.attachments {
            let older = unsafe Unmanaged<CalloutAttachment>.fromOpaque(first).takeRetainedValue()
            unsafe older.newer = self
            self.older = older
        }
        unsafe stack.pointee.attachments = Unmanaged.passRetained(self).toOpaque()
        unsafe self.point = point
        if let note = unsafe note {
            unsafe note.pointee.next = point.pointee.notes
            unsafe point.pointee.notes = UnsafePointer(note)
        }
    }

    /// Detaches it; nothing happens if its callout has ended.
    func detach() {
        guard let point = unsafe self.point else { return }
        hf_critical_enter()
        defer { hf_critical_leave() }
        unsafe self.point = nil
        unsafe removeNote(from: point)
        let older = older
        unsafe older?.newer = unsafe newer
        self.older = nil
        if let newer = unsafe newer {
            // This releases the attachment, unless the caller still holds it.
            newer.older = older
            unsafe self.newer = nil
        } else {
            unsafe point.pointee.stack.pointee.attachments = older.map { unsafe Unmanaged.passRetained($0).toOpaque() }
            unsafe Unmanaged.passUnretained(self).release()
        }
    }

    private func removeNote(from point: UnsafeMutablePointer<HFRecoveryPoint>) {
        guard let note = unsafe note else { return }
        var newer = unsafe point.pointee.notes
        if unsafe newer == UnsafePointer(note) {
            unsafe point.pointee.notes = note.pointee.next
            return
        }
        while let candidate = unsafe newer {
            if unsafe candidate.pointee.next == UnsafePointer(note) {
                unsafe UnsafeMutablePointer(mutating: candidate).pointee.next = note.pointee.next
                return
            }
            unsafe newer = candidate.pointee.next
        }
    }

    /// Takes all attachments of a callout that has ended, the newest first.
    static func takeAll(of stack: UnsafeMutablePointer<HFCalloutStack>) -> [CalloutAttachment] {
        guard let first = unsafe stack.pointee.attachments else { return [] }
        unsafe stack.pointee.attachments = nil
        var all: [CalloutAttachment] = []
        var next: CalloutAttachment? = unsafe Unmanaged<CalloutAttachment>.fromOpaque(first).takeRetainedValue()
        while let attachment = next {
            all.append(attachment)
            next = attachment.older
            attachment.older = nil
            unsafe attachment.newer = nil
            unsafe attachment.point = nil
        }
        return all
    }

    /// Releases, without running them, the attachments of a callout that returned.
    @inline(never)
    static func dropAll(of stack: UnsafeMutablePointer<HFCalloutStack>) {
        // Releasing runs the user's code. If that faults, it must not end at the recovery point of a callout around this one.
        let suspended = unsafe hf_recovery_suspend()
        _ = unsafe takeAll(of: stack)
        unsafe hf_recovery_restore(suspended)
    }
}

extension HostRunLoop {
    /// An action that runs if the callout that registered it is abandoned, like LLVM's `CrashRecoveryContextCleanup`.
    ///
    /// In an abandoned callout nothing is unwound: neither `defer` nor `deinit` runs. A cleanup gives back what would be lost
    /// otherwise: a descriptor, a place in a table, a lock file. It belongs to the innermost callout of the thread that
    /// registers it and is dropped, unrun, when that returns. When that is abandoned, all of its cleanups run once each, the
    /// newest first, on the loop's thread, after the abandon handler and before any other item is served. Each is a callout
    /// of its own: one that faults costs only itself.
    ///
    /// A cleanup finds everything as the fault left it, so it should touch little. Use it on the thread of the callout.
    public struct Cleanup {
        fileprivate let attachment: CalloutAttachment

        /// Whether it is registered with a callout that still runs.
        package var isRegistered: Bool { attachment.isAttached }

        /// Cancels the cleanup, so that it does not run.
        ///
        /// Nothing happens if its callout has ended.
        public func cancel() { attachment.detach() }
    }

    /// Registers an action that runs if the running callout is abandoned.
    ///
    /// Call it in a callout, on its thread. Elsewhere nothing can be abandoned: then the cleanup is not registered, and never runs. Costs
    /// an allocation or two.
    ///
    /// - Parameter action: The action: called on the loop's thread, once at most.
    /// - Returns: A token to cancel it, which need not be kept.
    @discardableResult
    public static func addCleanup(_ action: @escaping () -> Void) -> Cleanup {
        register(CalloutAttachment(action))
    }

    /// Puts on record that the running callout is about to change something that a fault may leave half changed.
    ///
    /// If the callout is abandoned before the mark is cancelled, the crash record and `AbandonedCallout.touched` have the name, and
    /// `poison` runs like a cleanup: it should make the thing unusable. `Poisonable` does all of this for a value. Call it in a callout, on
    /// its thread; elsewhere the mark is not registered.
    ///
    /// - Parameters:
    ///   - name: The name of the thing.
    ///   - poison: Makes the thing unusable: called on the loop's thread, once at most.
    /// - Returns: The mark. Cancel it when the change is complete.
    package static func touch(_ name: String, poison: @escaping () -> Void) -> Cleanup {
        register(CalloutAttachment(name: name, poison))
    }

    private static func register(_ attachment: CalloutAttachment) -> Cleanup {
        attachment.attach()
        return Cleanup(attachment: attachment)
    }
}
