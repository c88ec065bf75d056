import Synchronization
import Testing

@testable import RunLoops

/// The end of the queue at which any thread adds blocks.
@Suite struct BlockInboxTests {
    private static var capacity: Int { BlockSegment.capacity }

    private static func block(_ label: String) -> BlockEntry { .object(QueuedBlock(label: label, modes: .usual) {}) }

    /// Takes all blocks and returns their labels.
    private static func labels(_ list: inout BlockList) -> [String] {
        var labels: [String] = []
        while let entry = list.popFirst() {
            switch consume entry {
            case .plain: labels.append("plain")
            case .object(let block): labels.append(block.name.text)
            }
        }
        return labels
    }

    /// Adds as `HostRunLoop` does.
    private static func add(_ block: consuming BlockEntry, to inbox: BlockInbox, _ lock: borrowing CriticalLock) {
        guard let place = inbox.claim() else {
            lock.lock()
            inbox.claimWithLock().fill(with: block)
            lock.unlock()
            return
        }
        place.fill(with: block)
    }

    @Test("An inbox without a segment is empty, and does not become full by being asked")
    func nothing() {
        let inbox = BlockInbox()
        for _ in 0..<1000 { #expect(inbox.claim() == nil) }
        #expect(inbox.isEmpty)
        #expect(inbox.count == 0)
        inbox.claimWithLock().fill(with: Self.block("first"))
        #expect(!inbox.isEmpty)
        #expect(inbox.count == 1)
    }

    @Test(
        "Blocks come out as they went in, however many segments they fill",
        arguments: [1, capacity - 1, capacity, capacity + 1, 2 * capacity + 1, 8 * capacity]
    )
    func order(count: Int) {
        let inbox = BlockInbox()
        let lock = CriticalLock()
        // The second time with the segments of the first.
        for _ in 0..<2 {
            for number in 0..<count { Self.add(Self.block("\(number)"), to: inbox, lock) }
            #expect(inbox.count == count)
            let isLastFound = inbox.contains { $0.labelIfPending == "\(count - 1)" }
            #expect(isLastFound)
            var list = BlockList()
            inbox.takeAll(into: &list, isLast: false)
            #expect(inbox.isEmpty)
            #expect(Self.labels(&list) == (0..<count).map { "\($0)" })
            inbox.absorb(&list.spares)
        }
    }

    @Test("After the last blocks were taken, none is added without the lock", arguments: [0, 3, capacity])
    func closed(count: Int) {
        let inbox = BlockInbox()
        let lock = CriticalLock()
        for number in 0..<count { Self.add(Self.block("\(number)"), to: inbox, lock) }
        var list = BlockList()
        inbox.takeAll(into: &list, isLast: true)
        #expect(list.count == count)
        for _ in 0..<1000 {
            #expect(inbox.claim() == nil)
            inbox.refuse()
        }
        #expect(inbox.isEmpty)
    }

    @Test("Whoever takes a block waits until its place is filled", .timeLimit(.minutes(1)))
    func unfilled() throws {
        let inbox = BlockInbox()
        let shared = Shared()
        inbox.claimWithLock().fill(with: Self.block("first"))
        let thread = NewThread { _ -> Bool in
            guard let place = inbox.claim() else { return false }
            shared.isClaimed.open()
            // Long enough for the other thread to go wrong.
            for _ in 0..<10_000 where shared.isTaken.load(ordering: .acquiring) { return false }
            place.fill(with: Self.block("second"))
            return true
        }
        shared.isClaimed.wait()
        var list = BlockList()
        inbox.takeAll(into: &list, isLast: false)
        let labels = Self.labels(&list)
        shared.isTaken.store(true, ordering: .releasing)
        #expect(labels == ["first", "second"])
        #expect(try thread.join())
    }

    @Test("Blocks of each thread stay in order, and none is lost, while others are taken", .timeLimit(.minutes(1)))
    func threads() throws {
        let inbox = BlockInbox()
        let shared = Shared()
        let (threadCount, count) = (4, 20_000)
        let threads = (0..<threadCount).map { number in
            NewThread { _ in
                for index in 0..<count { Self.add(Self.block("\(number) \(index)"), to: inbox, shared.lock) }
            }
        }
        var next = [Int](repeating: 0, count: threadCount)
        var isInOrder = true
        while next.reduce(0, +) < threadCount * count, isInOrder {
            var list = BlockList()
            shared.lock.withLock { inbox.takeAll(into: &list, isLast: false) }
            for label in Self.labels(&list) {
                let words = label.split(separator: " ").compactMap { Int($0) }
                isInOrder = isInOrder && words.count == 2 && next[words[0]] == words[1]
                next[words[0]] += 1
            }
            shared.lock.withLock { inbox.absorb(&list.spares) }
        }
        #expect(isInOrder)
        #expect(next == [Int](repeating: count, count: threadCount))
        for thread in threads { try thread.join() }
    }

    private final class Shared: Sendable {
        let lock = CriticalLock()
        let isClaimed = Latch()
        let isTaken = Atomic<Bool>(false)
    }
}
