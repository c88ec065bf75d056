/// That an item is in a mode of a loop.
struct Membership {
    // Not retained: a loop takes all items out of its modes before it dies, and takes the item's lock for that. So they are
    // good under the item's lock, and whoever needs them longer retains them there.
    @safe unowned(unsafe) let loop: HostRunLoop
    @safe unowned(unsafe) let mode: LoopMode
    /// Where it is among the mode's items of its kind.
    let slot: Int
}

/// The modes that an item is in.
///
/// Nearly all items are in one mode: that one needs no array.
struct Memberships {
    private(set) var first: Membership?
    private var others: [Membership]?
    /// The loops among whose common items it is; it may be there without being in any of their modes.
    private var commonLoops: [CommonLoop]?
    /// Whether the item was ever withdrawn from a loop.
    var wasWithdrawn = false

    /// A loop with the item among its common ones.
    ///
    /// Not retained, like that of a membership: the loop takes its common items out before it dies, too.
    private struct CommonLoop {
        @safe unowned(unsafe) let loop: HostRunLoop
    }

    /// Whether the item is in no mode.
    var isEmpty: Bool { first == nil }

    /// Adds a membership.
    mutating func append(_ membership: Membership) {
        if first == nil {
            first = membership
        } else {
            others = (others ?? []) + [membership]
        }
    }

    /// Returns the membership in a mode.
    func membership(in mode: LoopMode) -> Membership? {
        if let first, first.mode === mode { return first }
        return others?.first { $0.mode === mode }
    }

    /// Returns a loop that the item is in, or among whose common items it is; that of the oldest membership if the test has no
    /// objection.
    func firstLoop(where isWanted: (HostRunLoop) -> Bool) -> HostRunLoop? {
        if let first, isWanted(first.loop) { return first.loop }
        return others?.first { isWanted($0.loop) }?.loop ?? commonLoops?.first { isWanted($0.loop) }?.loop
    }

    /// Notes that the item is one of a loop's common items.
    mutating func beginCommon(of loop: HostRunLoop) {
        guard !isCommon(of: loop) else { return }
        commonLoops = (commonLoops ?? []) + [CommonLoop(loop: loop)]
    }

    /// Notes that the item is not one of a loop's common items any more.
    mutating func endCommon(of loop: HostRunLoop) {
        guard var rest = commonLoops else { return }
        rest.removeAll { $0.loop === loop }
        commonLoops = rest.isEmpty ? nil : rest
    }

    /// Says whether the item is one of a loop's common items.
    func isCommon(of loop: HostRunLoop) -> Bool { commonLoops?.contains { $0.loop === loop } ?? false }

    /// Removes the membership in a mode and returns it.
    mutating func remove(from mode: LoopMode) -> Membership? {
        remove { $0.mode === mode }
    }

    /// Removes a membership in any mode of a loop and returns it.
    mutating func remove(from loop: HostRunLoop) -> Membership? {
        remove { $0.loop === loop }
    }

    @inline(__always)
    private mutating func remove(where isWanted: (Membership) -> Bool) -> Membership? {
        if let first, isWanted(first) {
            self.first = nil
            if var rest = others {
                self.first = rest.removeFirst()
                others = rest.isEmpty ? nil : rest
            }
            return first
        }
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

    /// All memberships, the oldest first.
    var all: [Membership] {
        guard let first else { return [] }
        return [first] + (others ?? [])
    }
}
