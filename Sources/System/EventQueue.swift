import CLinuxShims

/// Events harvested from an epoll instance in one call, to be taken one by one.
@safe
public struct EventQueue: ~Copyable {
    /// How many events one call can harvest.
    public static var capacity: Int { 64 }

    let storage: UnsafeMutablePointer<epoll_event>
    private var head = 0
    private var end = 0

    /// Makes an empty queue.
    public init() {
        unsafe storage = .allocate(capacity: Self.capacity)
        unsafe storage.initialize(repeating: epoll_event(), count: Self.capacity)
    }

    deinit {
        unsafe storage.deallocate()
    }

    /// Whether everything was taken.
    public var isEmpty: Bool { head == end }

    /// Takes the oldest event.
    ///
    /// - Returns: The token of the descriptor and what it is ready for, or `nil` when the queue is empty.
    public mutating func next() -> (token: UInt64, events: Epoll.Events)? {
        guard head < end else { return nil }
        let event = unsafe storage[head]
        head += 1
        return unsafe (event.data.u64, Epoll.Events(rawValue: event.events))
    }

    /// Puts the event that was taken last back in front.
    public mutating func putBack() {
        precondition(head > 0, "no event was taken")
        head -= 1
    }

    mutating func fill(count: Int) {
        head = 0
        end = count
    }
}
