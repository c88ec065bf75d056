/// Crash messages that wait for the main loop, in their order: never more than so many.
///
/// Its room is made beforehand, so that nothing is allocated under the supervisor's lock. A flood of resumed faults keeps the
/// first ones and the latest one, which says how many were left out between them; what the host must act upon,
/// quarantines and drains, takes the place of a resumed one.
struct MessageQueue: Sendable {
    static let capacity = 256

    /// A ring: the first message is at `first`, and what is beyond the last means nothing.
    private var ring = [CrashMessage](repeating: CrashMessage(number: 0, signal: 0, item: 0), count: capacity)
    private var first = 0
    private var count = 0

    mutating func append(_ message: CrashMessage) {
        var message = message
        if count == Self.capacity {
            // What is left out is the latest of a resumed fault; else, of those that are none, the latest of all.
            var left = count - 1
            while left >= 0, ring[place(left)].event != .resumed { left -= 1 }
            if left < 0, message.event == .resumed {
                ring[place(count - 1)].merged += message.merged + 1
                return
            }
            if left < 0 { left = count - 1 }
            message.merged += ring[place(left)].merged + 1
            while left < count - 1 {
                ring[place(left)] = ring[place(left + 1)]
                left += 1
            }
            count -= 1
        }
        ring[place(count)] = message
        count += 1
    }

    mutating func takeFirst() -> CrashMessage? {
        guard count > 0 else { return nil }
        let message = ring[first]
        first = place(1)
        count -= 1
        return message
    }

    private func place(_ number: Int) -> Int { (first + number) % Self.capacity }
}
