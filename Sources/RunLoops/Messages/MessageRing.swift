/// A queue of messages in the places of an array, which grows by doubling.
struct MessageRing {
    private var places: [HostRunLoop.Message?] = []
    private var head = 0
    /// How many messages there are.
    private(set) var count = 0

    /// Whether there are none.
    var isEmpty: Bool { count == 0 }

    /// Puts a message behind all others.
    mutating func append(_ message: HostRunLoop.Message) {
        if count == places.count {
            grow()
        }
        // A power of two.
        places[(head + count) & (places.count - 1)] = message
        count += 1
    }

    /// Takes the message that came first.
    mutating func popFirst() -> HostRunLoop.Message? {
        guard count > 0 else { return nil }
        defer {
            places[head] = nil
            head = (head + 1) & (places.count - 1)
            count -= 1
        }
        return places[head]
    }

    private mutating func grow() {
        var larger = [HostRunLoop.Message?](repeating: nil, count: max(4, places.count * 2))
        for index in 0..<count {
            larger[index] = places[(head + index) & (places.count - 1)]
        }
        places = larger
        head = 0
    }
}
