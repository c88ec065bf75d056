import Synchronization

/// Which commands of those that a loop has drawn from a queue at once still wait; it takes them one by one without the queue's lock.
///
/// A command is claimed by one atomic addition, where the lock takes as much again. Only the loop that draws claims without the lock,
/// and only it draws again; so what others have claimed is out of its place before that is used once more.
///
/// Not generic: who uses it from code for every type of command would ask for its type each time (96 ns a command instead of 35).
struct DrawnPlaces: ~Copyable {
    // They wait in a ring, in the places from `next` to `end`, both counted on at the end of the ring.
    private let next = Atomic<Int>(0)
    private let end = Atomic<Int>(0)

    /// How many wait; to whoever has not the lock, one that is just being claimed may count.
    @inline(__always)
    var count: Int { max(0, end.load(ordering: .relaxed) &- next.load(ordering: .relaxed)) }

    /// The oldest one, which is the caller's to take out of its place; nil if none waits.
    ///
    /// With the lock, or on the thread of the loop that draws.
    @inline(__always)
    func claim() -> Int? {
        // First without an addition: `next` must not grow for ever where there is nothing.
        guard next.load(ordering: .relaxed) < end.load(ordering: .relaxed) else { return nil }
        let place = next.wrappingAdd(1, ordering: .relaxed).oldValue
        return place < end.load(ordering: .relaxed) ? place : nil
    }

    /// Begins anew with other places; with the lock, on the thread of the loop that draws, when none waits.
    func begin(at place: Int, count: Int) {
        next.store(place, ordering: .relaxed)
        end.store(place &+ count, ordering: .relaxed)
    }
}
