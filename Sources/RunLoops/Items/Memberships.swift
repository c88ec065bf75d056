/// The presence of an item in a mode of a loop.
struct Membership {
    // Not counted: before a loop dies it takes all items out of its modes, and it takes the item's lock to do so. The references
    // are therefore valid under the item's lock; count them there to use them longer.
    let loop: Uncounted<HostRunLoop>
    let mode: Uncounted<LoopMode>
    /// Its position among the mode's items of the same kind.
    let slot: Int
}

/// The modes that an item is in.
///
/// Nearly every item is in one mode only, which is stored without an array.
struct Memberships {
    private(set) var first: Membership?
    private var others: [Membership]?
    /// The loops that have it among their common items, even if it is in none of their modes.
    private var commonLoops: [CommonLoop]?
    /// Whether the item was ever withdrawn from a loop.
    var wasWithdrawn = false

    /// A loop that has the item among its common items.
    ///
    /// Not counted, for the same reason as in a membership: before it dies the loop also takes out its common items.
    private struct CommonLoop {
        let loop: Uncounted<HostRunLoop>
    }

    /// Whether the item is in no mode.
    var isEmpty: Bool { first == nil }

    /// Whether the item is in no mode of any loop, nor among the common items of one.
    var areOver: Bool { first == nil && commonLoops == nil }

    /// Adds a membership.
    @inline(__always)
    mutating func append(_ membership: Membership) {
        if first == nil {
            first = membership
        } else {
            others = (others ?? []) + [membership]
        }
    }

    /// Returns the membership in a mode.
    @inline(__always)
    func membership(in mode: LoopMode) -> Membership? {
        if let first, first.mode.refers(to: mode) { return first }
        return others?.first { $0.mode.refers(to: mode) }
    }

    /// Returns the first wanted loop that the item is in or is a common item of; memberships come first, the oldest before the
    /// others.
    func firstLoop(where isWanted: (HostRunLoop) -> Bool) -> HostRunLoop? {
        if let first, first.loop.with(isWanted) { return first.loop.object }
        let other =
            others?.first { $0.loop.with(isWanted) }?.loop ?? commonLoops?.first { $0.loop.with(isWanted) }?.loop
        return other?.object
    }

    /// Records that the item is one of a loop's common items.
    mutating func beginCommon(of loop: HostRunLoop) {
        guard !isCommon(of: loop) else { return }
        commonLoops = (commonLoops ?? []) + [CommonLoop(loop: Uncounted(loop))]
    }

    /// Records that the item is no longer one of a loop's common items.
    mutating func endCommon(of loop: HostRunLoop) {
        guard var rest = commonLoops else { return }
        rest.removeAll { $0.loop.refers(to: loop) }
        commonLoops = rest.isEmpty ? nil : rest
    }

    /// Returns whether the item is one of a loop's common items.
    @inline(__always)
    func isCommon(of loop: HostRunLoop) -> Bool {
        guard let commonLoops else { return false }
        return commonLoops.contains { $0.loop.refers(to: loop) }
    }

    /// Removes the membership in a mode and returns it.
    mutating func remove(from mode: LoopMode) -> Membership? {
        remove { $0.mode.refers(to: mode) }
    }

    /// Removes a membership in any mode of a loop and returns it.
    @inline(__always)
    mutating func remove(from loop: HostRunLoop) -> Membership? {
        remove { $0.loop.refers(to: loop) }
    }

    @inline(__always)
    private mutating func remove(where isWanted: (Membership) -> Bool) -> Membership? {
        if let first, isWanted(first) {
            self.first = nil
            if others != nil { promoteOther() }
            return first
        }
        return others == nil ? nil : removeOther(where: isWanted)
    }

    // An item in several modes is rare: kept out of the code of those in one.

    /// Makes the oldest of the others the first.
    @inline(never)
    private mutating func promoteOther() {
        guard var rest = others else { return }
        first = rest.removeFirst()
        others = rest.isEmpty ? nil : rest
    }

    @inline(never)
    private mutating func removeOther(where isWanted: (Membership) -> Bool) -> Membership? {
        guard var rest = others, let index = rest.firstIndex(where: isWanted) else { return nil }
        let membership = rest.remove(at: index)
        others = rest.isEmpty ? nil : rest
        return membership
    }

    /// Calls `body` with every membership.
    @inline(__always)
    func visitAll(_ body: (Membership) -> Void) {
        guard let first else { return }
        body(first)
        guard let others else { return }
        for membership in others {
            body(membership)
        }
    }

    /// All memberships, oldest first.
    var all: [Membership] {
        guard let first else { return [] }
        return [first] + (others ?? [])
    }
}
