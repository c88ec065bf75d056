import Testing

@testable import RunLoops

/// The segments in which a loop's blocks wait.
@Suite struct BlockListTests {
    private static var capacity: Int { BlockSegment.capacity }

    private static func block(_ number: Int, _ ran: @escaping @Sendable (Int) -> Void = { _ in }) -> BlockEntry {
        let closure = KeptClosure(BlockClosure { ran(number) })
        return .plain(PlainBlock(closure: closure, isForCommonModes: number.isMultiple(of: 2)))
    }

    private static func run(_ entry: consuming BlockEntry?) {
        switch consume entry {
        case .some(.plain(let block)): block.closure.with(PlainBlockClosure.self) { $0.call() }
        case .some(.object): break
        case .none: break
        }
    }

    private static func numberOfBlocks(in list: borrowing BlockList) -> Int {
        var number = 0
        _ = list.contains { _ in
            number += 1
            return false
        }
        return number
    }

    @Test(
        "Blocks come out as they went in, however many segments they fill and whatever is added between",
        arguments: [1, capacity - 1, capacity, capacity + 1, 4 * capacity]
    )
    func order(count: Int) {
        let ran = Box<[Int]>([])
        var list = BlockList()
        for number in 0..<count { list.append(Self.block(number) { ran.value.append($0) }) }
        let waiting = list.count
        #expect(waiting == count)
        for number in count..<count + 2 * Self.capacity {
            list.append(Self.block(number) { ran.value.append($0) })
            Self.run(list.popFirst())
        }
        let all = Self.numberOfBlocks(in: list)
        #expect(all == count)
        while let block = list.popFirst() { Self.run(block) }
        #expect(ran.value == Array(0..<count + 2 * Self.capacity))
    }

    @Test("Sorting keeps blocks with equal orders as they are")
    func sorted() {
        var list = BlockList()
        for number in 0..<3 * Self.capacity {
            let block = QueuedBlock(label: "\(number)", modes: .usual, order: number % 3) {}
            list.append(.object(block))
        }
        list.sort()
        var labels: [Int] = []
        while let entry = list.popFirst() {
            switch consume entry {
            case .plain: Issue.record("a block has become a plain one")
            case .object(let block): labels.append(Int(block.name.text) ?? -1)
            }
        }
        let expected = (0..<3).flatMap { order in (0..<3 * Self.capacity).filter { $0 % 3 == order } }
        #expect(labels == expected)
    }

    @Test("A list that follows another one keeps the order, though segments are not full")
    func appended() {
        let ran = Box<[Int]>([])
        var list = BlockList()
        for part in 0..<5 {
            let inbox = BlockInbox()
            for number in 0..<100 {
                inbox.claimWithLock().fill(with: Self.block(part * 100 + number) { ran.value.append($0) })
            }
            inbox.takeAll(into: &list, isLast: false)
        }
        let count = list.count
        #expect(count == 500)
        list.append(Self.block(500) { ran.value.append($0) })
        while let block = list.popFirst() { Self.run(block) }
        #expect(ran.value == Array(0...500))
    }

    @Test("A block is found in any segment, and nothing is found in an empty list")
    func found() {
        var list = BlockList()
        for _ in 0..<3 * Self.capacity { list.append(Self.block(1)) }
        let isFoundTooEarly = list.contains { $0.dependsOnCommon }
        list.append(Self.block(2))
        let isFound = list.contains { $0.dependsOnCommon }
        var removed = 0
        while let _ = list.popFirst() { removed += 1 }
        let isFoundTooLate = list.contains { _ in true }
        #expect(!isFoundTooEarly)
        #expect(isFound)
        #expect(removed == 3 * Self.capacity + 1)
        #expect(!isFoundTooLate)
    }

    @Test("What was not taken is released with the list, once", arguments: [0, 1, capacity + 1, 3 * capacity])
    func released(taken: Int) {
        let counter = Box(0)
        do {
            var list = BlockList()
            for _ in 0..<3 * Self.capacity {
                let guardian = Guardian { counter.value += 1 }
                let closure = KeptClosure(BlockClosure { withExtendedLifetime(guardian) {} })
                list.append(.plain(PlainBlock(closure: closure, isForCommonModes: true)))
            }
            for _ in 0..<taken { _ = list.popFirst() }
            #expect(counter.value == taken)
        }
        #expect(counter.value == 3 * Self.capacity)
    }

    /// A value that closures share on one thread.
    private final class Box<Value>: @unchecked Sendable {
        var value: Value
        init(_ value: Value) { self.value = value }
    }

    /// Tells of its end.
    private final class Guardian: Sendable {
        let end: @Sendable () -> Void
        init(_ end: @escaping @Sendable () -> Void) { self.end = end }
        deinit { end() }
    }
}
