import Synchronization

/// A contradiction in the structures of a loop between two callouts.
struct InvariantViolation: Hashable, CustomStringConvertible {
    /// The mode concerned, if any.
    let mode: HostRunLoop.Mode?
    /// What is wrong, as a sentence.
    let explanation: String

    /// What is wrong, and where.
    var description: String {
        mode.map { "mode \($0): \(explanation)" } ?? explanation
    }
}

extension HostRunLoop {
    /// How many items are checked in every pass; with more items, fewer passes are checked.
    private static var itemsPerCheck: Int { 64 }

    /// Ends a debug build if the loop's structures contradict each other.
    ///
    /// Called by the loop's thread at the end of a pass, with no lock held. The cost per pass does not depend on the number of items: a
    /// loop with a thousand times `itemsPerCheck` is checked in every thousandth pass.
    @inline(__always)
    func checkInvariants() {
        #if DEBUG
        // In a forked child items stay in the loop: see LoopOfThread.swift.
        guard !isInheritedByFork else { return }
        let items = lock.withLock {
            modes.all.reduce(modes.commonItemCount) { $0 + $1.itemCount + $1.observers.count }
        }
        guard passCount % UInt64(1 + items / Self.itemsPerCheck) == 0 else { return }
        let violations = invariantViolations()
        let list = violations.map { "\n- \($0)" }.joined()
        precondition(violations.isEmpty, "a run loop is broken:" + list)
        #endif
    }

    /// Returns what is wrong with the loop's structures.
    ///
    /// To be called on the loop's thread, outside of callouts, with no lock held.
    func invariantViolations() -> [InvariantViolation] {
        lock.withLock {
            var findings = InvariantFindings()
            let depth = runs.depth
            // A run has no deadline while its observers of `entry` and `exit` are called, which may run the loop.
            findings.expect(nil, runs.deadlineCount <= depth, "it has more deadlines than runs")
            findings.expect(nil, (runs.mode != nil) == (depth > 0), "the current mode does not tell whether it runs")
            findings.expect(nil, blocks.isCountRight, "the count of blocks is wrong")
            findings.expect(nil, modes[.common] == nil, "the pseudo mode has become a mode")
            findings.expect(nil, !modes.isCommon(.common), "the pseudo mode is a common mode")
            let ordered = Set(modes.commonNames)
            findings.expect(nil, ordered == modes.commonModes, "the common modes are not those in their order")
            let commonItems = modes.commonItemsInOrder
            for (identifier, item) in commonItems {
                findings.expect(nil, item.identifier == identifier, "a common item has the key of another")
                let knows = item.withItemLock { item.memberships.isCommon(of: self) }
                findings.expect(nil, knows, "a common item does not know that it is one")
            }
            for (name, mode) in modes.entries {
                findings.expect(mode, mode.name == name, "it is known under another name")
                findings.check(mode, of: self)
            }
            // From the items back to the modes: every item that a mode or the common items know.
            for item in Array(findings.items.values) + commonItems.map(\.value) {
                findings.checkMemberships(of: item, in: self)
            }
            return findings.violations
        }
    }
}

/// What a check has found so far.
///
/// Used with the loop's lock held.
private struct InvariantFindings {
    var violations: [InvariantViolation] = []
    /// All items of all modes, by identity.
    var items: [ObjectIdentifier: any LoopItem] = [:]
    /// In which modes each of them was found.
    private var modesOfItem: [ObjectIdentifier: Set<ObjectIdentifier>] = [:]

    mutating func expect(_ mode: LoopMode?, _ condition: Bool, _ explanation: @autoclosure () -> String) {
        if !condition {
            violations.append(InvariantViolation(mode: mode?.name, explanation: explanation()))
        }
    }

    mutating func check(_ mode: LoopMode, of loop: HostRunLoop) {
        var sources: [HostRunLoop.Source] = []
        mode.sources.visitAll { sources.append($0) }
        var ports: [HostRunLoop.PortSource] = []
        mode.ports.visitAll { ports.append($0) }
        var timers: [HostRunLoop.Timer] = []
        mode.timers.visitAll { timers.append($0) }

        let count = sources.count + ports.count + timers.count
        expect(mode, mode.itemCount == count, "its count of items is wrong")
        expect(mode, mode.sources.count == sources.count, "its table of sources counts wrong")
        expect(mode, mode.timers.count == timers.count, "its table of timers counts wrong")
        let descriptors = ports.count + (mode.watchesMainQueue ? 1 : 0)
        expect(mode, mode.descriptorCount == descriptors, "its count of descriptors is wrong")

        for item in sources { note(item, in: mode, of: loop) { mode.sources[$0] === item } }
        for item in ports {
            note(item, in: mode, of: loop) { mode.ports.source(for: mode.ports.token(of: $0)) === item }
        }
        for item in timers { note(item, in: mode, of: loop) { mode.timers.element(at: $0) === item } }
        for item in mode.observers { note(item, in: mode, of: loop) { _ in true } }
        checkObservers(of: mode)
        check(timers, of: mode, in: loop)
    }

    private mutating func checkObservers(of mode: LoopMode) {
        let observers = mode.observers
        let isSorted = zip(observers, observers.dropFirst()).allSatisfy { $0.order <= $1.order }
        expect(mode, isSorted, "its observers are out of order")
        let wanted = observers.reduce(0) { $0 | $1.activities.rawValue }
        let observed = mode.observedActivities
        expect(mode, wanted & ~observed == 0, "an observer wants what nobody is told of")
    }

    private mutating func check(_ timers: [HostRunLoop.Timer], of mode: LoopMode, in loop: HostRunLoop) {
        for defect in mode.timers.defects() {
            expect(mode, false, "its heap of timers is broken: \(defect)")
        }
        let earliest = mode.timers.earliestDeadline ?? .max
        let published = mode.nextDeadline
        expect(mode, published == earliest, "its next deadline is \(published) and not \(earliest)")
        // A timer that another thread is invalidating stays parked until it has left. A timer that its own callout brought from another
        // loop stays parked until the callout is over.
        let parked = timers.count { timer in
            let slot = timer.withItemLock { () -> Int? in
                guard timer.isValid, !timer.isFiringElsewhere(than: loop) else { return nil }
                return timer.memberships.membership(in: mode)?.slot
            }
            return slot.map { !mode.timers.isScheduled($0) } ?? false
        }
        // Each enclosing run may be firing a timer, because only that timer's callout can have led here.
        expect(mode, parked < max(loop.runs.deadlineCount, 1), "a timer is firing, and its callout is over")
    }

    /// Notes where an item is, and checks that it knows its place.
    private mutating func note(
        _ item: some LoopItem,
        in mode: LoopMode,
        of loop: HostRunLoop,
        isAt: (Int) -> Bool
    ) {
        items[ObjectIdentifier(item)] = item
        let isFirst = modesOfItem[ObjectIdentifier(item), default: []].insert(ObjectIdentifier(mode)).inserted
        expect(mode, isFirst, "it has an item twice")
        let places = item.withItemLock {
            item.memberships.all.filter { $0.loop.refers(to: loop) && $0.mode.refers(to: mode) }
        }
        let isRight = places.count == 1 && places.allSatisfy { isAt($0.slot) }
        expect(mode, isRight, "the item \(item.identifier) does not know its place")
    }

    /// Checks that an item is where it thinks it is.
    mutating func checkMemberships(of item: any LoopItem, in loop: HostRunLoop) {
        // Not kept beyond the item's lock, because another loop of a source may end.
        let (isSharing, modes) = item.withItemLock {
            let all = item.memberships.all
            let modes = all.filter { $0.loop.refers(to: loop) }.map(\.mode.object)
            // A common item may have left every mode here, and be in another loop since.
            return (!modes.isEmpty && modes.count < all.count, modes)
        }
        expect(nil, !isSharing || !type(of: item).belongsToOneLoop, "the item \(item.identifier) is in two loops")
        let known = modesOfItem[ObjectIdentifier(item)] ?? []
        for mode in modes {
            expect(mode, known.contains(ObjectIdentifier(mode)), "the item \(item.identifier) is missing")
        }
    }
}
