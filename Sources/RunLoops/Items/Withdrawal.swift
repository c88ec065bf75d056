extension HostRunLoop {
    /// An item that was taken out of its loop for the time being: it is valid, and is not served until it is put back.
    ///
    /// Life cycle: made by `withdraw(item:)`, or when an item is added whose label is withheld -> over: the item was put back or
    /// invalidated, or removed from all the modes that are recorded here, or the loop's thread has ended. Callable from any
    /// thread.
    public final class Withdrawal: @unchecked Sendable {
        /// The item's label.
        public let label: String
        /// What kind of item it is.
        public let kind: CalloutKind
        /// The item's identity, unique in the process.
        public let identifier: UInt64
        /// Whether it was withheld because of its label when it was added, and never served.
        public let isWithheld: Bool
        let item: any LoopItem
        /// Until the withdrawal is over the loop refers to it, too.
        private let loop: HostRunLoop
        /// Protected by the loop's lock.
        @safe @exclusivity(unchecked) var recordedModes: Set<Mode>

        init(_ item: any LoopItem, of loop: HostRunLoop, modes: Set<Mode>, isWithheld: Bool) {
            label = item.label
            kind = item.kind
            identifier = item.identifier
            self.isWithheld = isWithheld
            self.item = item
            self.loop = loop
            recordedModes = modes
        }

        /// The modes that it is put back into, by name; `.common` if it was added to the common modes.
        ///
        /// What is added or removed meanwhile counts: it is recorded here.
        public var modes: [Mode] {
            loop.lock.withLock { recordedModes }.sorted { $0.rawValue < $1.rawValue }
        }

        /// Whether the item is still out of the loop.
        public var isOver: Bool { loop.lock.withLock { loop.withdrawals[identifier] !== self } }

        /// Puts the item back into its modes; its loop serves it, even if it sleeps now.
        ///
        /// A repeating timer goes on at its next date: those that have passed are left out. A timer that fires once and whose
        /// date has passed fires. A source that was signalled meanwhile is performed. From now on the item's label does not
        /// withhold it any more.
        ///
        /// - Returns: Whether it is back; `false` if the withdrawal is over, a timer or an observer is in another loop now, or
        ///   the kernel does not take a port source's descriptor any more.
        @discardableResult
        public func putBack() -> Bool { loop.putBack(self) }
    }
}

/// The withdrawals of all loops by item: whoever invalidates an item ends them.
final class WithdrawalTable: @unchecked Sendable {
    static let shared = WithdrawalTable()

    /// Nothing is taken while it is held.
    private let lock = CriticalLock()
    /// Protected by `lock`.
    ///
    /// An item may be in several loops.
    private var loops: [UInt64: [HostRunLoop]] = [:]

    func insert(_ identifier: UInt64, of loop: HostRunLoop) {
        lock.withLock { loops[identifier, default: []].append(loop) }
    }

    /// Called by whoever keeps the loop alive.
    func remove(_ identifier: UInt64, of loop: HostRunLoop) {
        lock.withLock {
            loops[identifier]?.removeAll { $0 === loop }
            if loops[identifier]?.isEmpty == true { loops[identifier] = nil }
        }
    }

    /// Ends the withdrawals of an item that was invalidated.
    func endAll(of identifier: UInt64) {
        for loop in lock.withLock({ loops[identifier] ?? [] }) where !loop.isInheritedByFork {
            // Released here, after unlocking.
            _ = loop.lock.withLock { loop.endWithdrawal(of: identifier) }
        }
    }
}
