internal import CrashCapture
internal import Synchronization

/// What the host tells of items and costs, outside of any fault.
extension Supervisor {
    /// Whether the policies allow to abandon a callout of an item that runs for longer than its deadline.
    package func allowsAbandoning(item: UInt64) -> Bool {
        (policies.policy(ofItem: item) ?? rule.policy).abandonsOverdueCallouts
    }

    // MARK: Costs

    /// Notes memory that the frames of an abandoned callout keep for ever: it counts against `FaultBudget.lostBytes`.
    ///
    /// On the loop's thread, after the fault. What is negative counts as none.
    package func noteCost(bytes: Int) {
        state.withLock { $0.ledger.lose(bytes: bytes) }
    }

    /// Notes descriptors that the frames of an abandoned callout left open: they count against `FaultBudget.lostDescriptors`.
    ///
    /// On the loop's thread, after the fault. What is negative counts as none.
    package func noteDescriptors(_ count: Int) {
        state.withLock { $0.ledger.lose(descriptors: count) }
    }

    /// Bytes that were noted so far.
    package var lostBytes: Int { state.withLock { $0.ledger.lostBytes } }

    /// Descriptors that were noted so far.
    package var lostDescriptors: Int { state.withLock { $0.ledger.lostDescriptors } }

    // MARK: Quarantine

    /// Takes one item whose cool-down is over: put it back into its loop, it is on probation from now on.
    ///
    /// On the loop's thread, again until there is none: after `timeToNextDueItem`.
    ///
    /// - Returns: The identity of the item, nil if there is none.
    package func takeDueItem() -> UInt64? {
        let now = now
        let item = state.withLock { $0.quarantine?.takeDue(at: now) ?? 0 }
        return item == 0 ? nil : item
    }

    /// How long it is until a cool-down is over; zero if one is, nil if none will be.
    package var timeToNextDueItem: Duration? {
        let now = now
        let end = state.withLock { $0.quarantine?.nextEnd }
        return end.map { max(.zero, $0 - now) }
    }

    /// The rest of a quarantine.
    package struct Quarantine: Sendable {
        /// How long it is until it is over; nil if it never is.
        package let left: Duration?
    }

    /// What is left of an item's quarantine; nil if the item is in none.
    ///
    /// A quarantine whose time has come is ended by this: the item is on probation then.
    package func quarantine(ofItem item: UInt64) -> Quarantine? {
        let now = now
        return state.withLock { state in
            guard let quarantine = state.quarantine?.quarantine(of: item) else { return nil }
            if let end = quarantine.end, end <= now, state.quarantine?.putBack(item, at: now) == true { return nil }
            return Quarantine(left: quarantine.end.map { $0 - now })
        }
    }

    /// Whether an item is in quarantine, or nobody has noticed yet that its time has come.
    package func isQuarantined(item: UInt64) -> Bool {
        state.withLock { $0.quarantine?.quarantine(of: item) != nil }
    }

    /// Ends an item's quarantine early: put it back into its loop, it is on probation from now on.
    ///
    /// - Parameter item: The identity of the item.
    /// - Returns: Whether it was in quarantine.
    package func endQuarantine(ofItem item: UInt64) -> Bool {
        let now = now
        return state.withLock { $0.quarantine?.putBack(item, at: now) ?? false }
    }

    /// Forgets the faults of an item, its quarantine among them: it was mended, or is no more.
    ///
    /// What they cost the process stays counted.
    ///
    /// - Parameter item: The identity of the item.
    package func forgive(item: UInt64) {
        state.withLock { state in
            state.ledger.forget(item)
            state.quarantine?.forget(item)
        }
    }

    /// The items that are in quarantine, by identity, ascending.
    package var quarantinedItems: [UInt64] {
        var items: [UInt64] = []
        items.reserveCapacity(QuarantineLedger.capacity)
        state.withLock { $0.quarantine?.addQuarantined(to: &items) }
        return items.sorted()
    }
}
