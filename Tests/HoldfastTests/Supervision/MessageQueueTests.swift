import RunLoops
import Testing

@testable import Holdfast

/// Crash messages that nobody takes.
@Suite struct MessageQueueTests {
    private static func message(_ number: Int, _ event: CrashMessage.Event = .resumed) -> CrashMessage {
        CrashMessage(number: number, signal: 4, item: 1, event: event)
    }

    private static func all(_ queue: inout MessageQueue) -> [CrashMessage] {
        var messages: [CrashMessage] = []
        while let message = queue.takeFirst() { messages.append(message) }
        return messages
    }

    @Test func `They come in their order`() {
        var queue = MessageQueue()
        for number in 1...MessageQueue.capacity { queue.append(Self.message(number)) }
        let messages = Self.all(&queue)
        #expect(messages.map(\.number) == Array(1...MessageQueue.capacity))
        #expect(messages.allSatisfy { $0.merged == 0 })
        #expect(queue.takeFirst() == nil)
    }

    @Test func `A flood keeps the first and the latest, and counts what lay between`() {
        var queue = MessageQueue()
        let room = MessageQueue.capacity
        for number in 1...room + 1000 { queue.append(Self.message(number)) }
        let messages = Self.all(&queue)
        #expect(messages.map(\.number) == Array(1..<room) + [room + 1000])
        #expect(messages.map(\.merged).reduce(0, +) == 1000)
        #expect(messages.last?.merged == 1000)
    }

    @Test func `A drain stays, however many quarantines and faults come after it`() {
        var queue = MessageQueue()
        let room = MessageQueue.capacity
        for number in 1..<room { queue.append(Self.message(number, .quarantined(coolDown: nil))) }
        queue.append(Self.message(room, .draining(until: .distantFuture)))
        for number in room + 1...room + 50 { queue.append(Self.message(number, .quarantined(coolDown: nil))) }
        queue.append(Self.message(room + 51))
        let messages = Self.all(&queue)
        #expect(messages.map(\.number) == Array(1..<room - 1) + [room, room + 50])
        #expect(messages.count + messages.map(\.merged).reduce(0, +) == room + 51, "each is there or counted")
    }

    @Test func `Quarantines and drains are not merged into faults that were resumed`() {
        var queue = MessageQueue()
        let room = MessageQueue.capacity
        for number in 1...room { queue.append(Self.message(number)) }
        queue.append(Self.message(room + 1, .quarantined(coolDown: nil)))
        for number in room + 2...room + 50 { queue.append(Self.message(number)) }
        queue.append(Self.message(room + 51, .draining(until: .distantFuture)))
        let messages = Self.all(&queue)
        #expect(messages.count == room)
        #expect(messages.filter { $0.event != .resumed }.map(\.number) == [room + 1, room + 51])
        #expect(messages.count + messages.map(\.merged).reduce(0, +) == room + 51, "each is there or counted")
        #expect(messages.map(\.number) == messages.map(\.number).sorted())
    }

    @Test func `Even a flood of those does not grow without end`() {
        var queue = MessageQueue()
        let room = MessageQueue.capacity
        for number in 1...2 * room { queue.append(Self.message(number, .quarantined(coolDown: nil))) }
        queue.append(Self.message(2 * room + 1))
        let messages = Self.all(&queue)
        #expect(messages.count == room)
        #expect(messages.count + messages.map(\.merged).reduce(0, +) == 2 * room + 1)
        #expect(messages.allSatisfy { $0.event != .resumed })
    }
}
