import Glibc
import LinuxSystem

/// One node of a `TimerHeap`: sixteen bytes, so that four children fill one cache line.
///
/// The sequence number that decides between equal deadlines is in the slot.
struct HeapNode {
    var deadline: Int64
    var slot: Int

    // Four children per node give half the levels of a binary heap, and the children share a cache line or two.
    private static var arity: Int { 4 }

    /// The position of a node's parent; the node must not be the first.
    @inline(__always)
    static func parent(of position: Int) -> Int { (position &- 1) / arity }

    /// The positions of a node's children, which may be past the end.
    @inline(__always)
    static func children(of position: Int) -> Range<Int> {
        let first = position &* arity &+ 1
        return unsafe Range(uncheckedBounds: (first, first &+ arity))
    }
}

/// A contiguous buffer of values with one owner, who frees it.
///
/// The values are moved as bytes, so none may be or have a weak reference.
///
/// An array would check at every change whether it is shared, and at every access whether the index exists. This buffer is never
/// shared, and it checks the index in debug builds only. Adding to a heap of timers is three such changes.
@safe
struct HeapStorage<Value> {
    private var base: UnsafeMutablePointer<Value>
    private var capacity = 16
    private(set) var count = 0

    init() {
        unsafe base = Self.resized(nil, to: capacity)
    }

    /// Destroys the values and frees the memory; call it once.
    func free() {
        unsafe base.deinitialize(count: count)
        unsafe Glibc.free(base)
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

    /// Asks for the memory of a value, without waiting for it.
    @inline(__always)
    func prefetch(_ place: Int) {
        Prefetch.object(at: unsafe UInt(bitPattern: base + place))
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

    /// Removes all values but the first ones.
    mutating func shrink(to newCount: Int) {
        assert(newCount <= count)
        unsafe (base + newCount).deinitialize(count: count &- newCount)
        count = newCount
    }

    @inline(never)
    private mutating func grow() {
        capacity *= 2
        unsafe base = Self.resized(base, to: capacity)
    }

    /// A large buffer grows by mremap(2): nothing is copied, and no page is made that was there before, which was half of what adding one of
    /// 100,000 timers took.
    private static func resized(_ base: UnsafeMutablePointer<Value>?, to capacity: Int) -> UnsafeMutablePointer<Value> {
        guard let memory = unsafe realloc(base, capacity * MemoryLayout<Value>.stride) else {
            fatalError("no memory for \(capacity) items of a run loop")
        }
        return unsafe memory.assumingMemoryBound(to: Value.self)
    }
}
