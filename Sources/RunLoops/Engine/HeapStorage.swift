/// One place of a `TimerHeap`: sixteen bytes, so that four children fill one cache line.
///
/// The sequence number that decides a tie is in the slot.
struct HeapNode {
    var deadline: Int64
    var slot: Int

    // Four children per node: half the levels of a binary heap, and the children share a cache line or two.
    private static var arity: Int { 4 }

    /// Where the parent of a node is that is not the first.
    @inline(__always)
    static func parent(of position: Int) -> Int { (position &- 1) / arity }

    /// Where the children of a node are, if there are any.
    @inline(__always)
    static func children(of position: Int) -> Range<Int> {
        let first = position &* arity &+ 1
        return unsafe Range(uncheckedBounds: (first, first &+ arity))
    }
}

/// Values in a row, with one owner, who frees them.
///
/// An array would ask at every change whether it is shared, and at every access whether the place exists; here the first
/// cannot be, and the second is asked in debug builds. Adding to a heap of timers is three such changes.
@safe
struct HeapStorage<Value> {
    private var base: UnsafeMutablePointer<Value>
    private var capacity = 16
    private(set) var count = 0

    init() {
        unsafe base = .allocate(capacity: capacity)
    }

    /// Ends the life of the values; to be called once.
    func free() {
        unsafe base.deinitialize(count: count)
        unsafe base.deallocate()
    }

    @inline(__always)
    subscript(place: Int) -> Value {
        get {
            assert(place >= 0 && place < count)
            return unsafe base[place]
        }
        nonmutating set {
            assert(place >= 0 && place < count)
            unsafe base[place] = newValue
        }
        nonmutating _modify {
            assert(place >= 0 && place < count)
            yield unsafe &base[place]
        }
    }

    @inline(__always)
    mutating func append(_ value: Value) {
        if count == capacity { grow() }
        unsafe (base + count).initialize(to: value)
        count &+= 1
    }

    @inline(__always)
    mutating func removeLast() -> Value {
        assert(count > 0)
        count &-= 1
        return unsafe (base + count).move()
    }

    @inline(never)
    private mutating func grow() {
        let wider = UnsafeMutablePointer<Value>.allocate(capacity: capacity * 2)
        unsafe wider.moveInitialize(from: base, count: count)
        unsafe base.deallocate()
        unsafe base = unsafe wider
        capacity *= 2
    }
}
