public import CrashCapture
internal import TaskBoundaries

extension FaultBoundary.Label {
    /// Which faults in boundaries of the label are resumed; nil for the host's policy (`EventHost.Configuration.recoveryPolicy`).
    ///
    /// It holds at once, and may be set before there is a host. Callable from any thread.
    public var recoveryPolicy: RecoveryPolicy? {
        get { kept.item == 0 ? nil : ItemPolicies.recovery.policy(ofItem: kept.item) }
        nonmutating set {
            if kept.item != 0 { ItemPolicies.recovery.set(newValue, forItem: kept.item) }
        }
    }

    /// Whether boundaries of the label are refused because it faulted too often (`FaultBudget.perLabel`).
    ///
    /// Callable from any thread.
    public var isQuarantined: Bool { kept.isQuarantined }

    /// Lets boundaries of the label run again before its quarantine is over, on probation.
    ///
    /// Callable from any thread.
    ///
    /// - Returns: Whether it was in quarantine.
    @discardableResult
    public func endQuarantine() -> Bool {
        ItemPolicies.withHost { host in
            guard host.ward.knows(kept.item), host.supervisor.endQuarantine(ofItem: kept.item) else { return false }
            host.ward.discharge(kept.item)
            return true
        } ?? false
    }
}

extension FaultBoundary {
    /// Gives the innermost boundary of the running task another label: for what is known only inside, such as the route of a request.
    ///
    /// Reports, budgets and the log use it from then on. Outside of every boundary it does nothing.
    ///
    /// - Parameter label: The label.
    /// - Throws: `QuarantineError`, if that label is quarantined: end the body with it.
    public static func setLabel(_ label: Label) throws(QuarantineError) {
        guard let boundary = TaskBoundaries.FaultBoundary.current else { return }
        boundary.label = label.kept
        if label.kept.isQuarantined, let refusal = BoundaryHost.refusal(of: label) { throw refusal }
    }

    /// The label of a boundary has faulted too often: the body was not called, or has asked for that label by `setLabel(_:)`.
    public struct QuarantineError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The label of the boundary.
        public let boundary: String
        /// How long it is until the label is tried again, for `Retry-After`; nil if it is not.
        public let retryAfter: Duration?

        /// The boundary, and when it is tried again, in a line.
        public var description: String {
            "\(boundary) has faulted too often"
                + (retryAfter.map { "; it is tried again in \($0.roundedUpToSeconds) s" } ?? "")
        }
    }
}

extension Duration {
    /// Whole seconds, not less than it.
    package var roundedUpToSeconds: Int64 { components.seconds + (components.attoseconds > 0 ? 1 : 0) }
}

extension BoundaryHost.Parts {
    /// Has the boundaries of a label refused from now on.
    ///
    /// In a task; the verdict on a fault has put the label into quarantine.
    func quarantine(_ label: BoundaryLabel) { ward.admit(label) }

    /// What the caller of a boundary gets whose label is quarantined; nil if it is not any more.
    ///
    /// The main loop ends quarantines, but may be busy, or have ended.
    func refusal(of label: FaultBoundary.Label) -> FaultBoundary.QuarantineError? {
        guard let quarantine = supervisor.quarantine(ofItem: label.kept.item) else {
            ward.discharge(label.kept.item)
            return nil
        }
        return FaultBoundary.QuarantineError(boundary: label.kept.name, retryAfter: quarantine.left)
    }
}
