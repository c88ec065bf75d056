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
            // What is left out is the latest of a resumed fault; else the latest quarantine, which its item's own state tells of, too; a
            // drain only for another one.
            guard let left = latest({ $0 == .resumed }) ?? latest({ !$0.isDrain || message.event.isDrain }),
                message.event != .resumed || ring[place(left)].event == .resumed
            else {
                ring[place(count - 1)].merged += message.merged + 1
                return
            }
            var next = left
            message.merged += ring[place(left)].merged + 1
            while next < count - 1 {
                ring[place(next)] = ring[place(next + 1)]
                next += 1
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

    /// The number of the latest message whose event is one of those wanted.
    private func latest(_ isWanted: (CrashMessage.Event) -> Bool) -> Int? {
        var number = count - 1
        while number >= 0, !isWanted(ring[place(number)].event) { number -= 1 }
        return number < 0 ? nil : number
    }

    private func place(_ number: Int) -> Int { (first + number) % Self.capacity }
}

extension CrashMessage.Event {
    fileprivate var isDrain: Bool {
        if case .draining = self { true } else { false }
    }
}
