import Testing

@testable import RunLoops

/// The chunks in which a loop's blocks wait.
@Suite struct BlockListTests {
    private static func block(_ number: Int, _ ran: @escaping @Sendable (Int) -> Void = { _ in }) -> BlockEntry {
        .plain(PlainBlock(closure: { ran(number) }, isForCommonModes: number.isMultiple(of: 2)))
    }

    private static func run(_ entry: BlockEntry?) {
        if case .plain(let block) = entry { block.closure() }
    }

    @Test(
        "Blocks come out as they went in, however many chunks they fill and whatever is added between",
        arguments: [1, 255, 256, 257, 1000]
    )
    func order(count: Int) {
        let ran = Box<[Int]>([])
        var list = BlockList()
        for number in 0..<count { list.append(Self.block(number) { ran.value.append($0) }) }
        let waiting = list.count
        #expect(waiting == count)
        for number in count..<count + 600 {
            list.append(Self.block(number) { ran.value.append($0) })
            Self.run(list.popFirst())
        }
        let all = list.all.count
        #expect(all == count)
        while let block = list.popFirst() { Self.run(block) }
        #expect(ran.value == Array(0..<count + 600))
    }

    @Test("A block is found in any chunk, and nothing is found in an empty list")
    func found() {
        var list = BlockList()
        for _ in 0..<700 { list.append(Self.block(1)) }
        let isFoundTooEarly = list.contains { $0.dependsOnCommon }
        list.append(Self.block(2))
        let isFound = list.contains { $0.dependsOnCommon }
        let removed = list.removeAll().count
        let isFoundTooLate = list.contains { _ in true }
        #expect(!isFoundTooEarly)
        #expect(isFound)
        #expect(removed == 701)
        #expect(!isFoundTooLate)
    }

    @Test("What was not taken is released with the list, once", arguments: [0, 1, 300, 600])
    func released(taken: Int) {
        let counter = Box(0)
        do {
            var list = BlockList()
            for _ in 0..<600 {
                let guardian = Guardian { counter.value += 1 }
                list.append(.plain(PlainBlock(closure: { withExtendedLifetime(guardian) {} }, isForCommonModes: true)))
            }
            for _ in 0..<taken { _ = list.popFirst() }
            #expect(counter.value == taken)
        }
        #expect(counter.value == 600)
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
