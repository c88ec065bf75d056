import Testing

@testable import Holdfast

/// Which records wait, and which share a slot.
@Suite struct RecordBacklogTests {
    private typealias Fold = RecordBacklog.Fold
    private static let few = UInt32(RecordBacklog.roomy)

    /// Adds slots whose threads have gone on, with a key each.
    private static func add(_ backlog: inout RecordBacklog, _ slots: Range<UInt32>, key: (UInt32) -> Int?) -> [Fold] {
        slots.flatMap { backlog.add($0, isParked: { _ in false }, key: key) }
    }

    private static func takeAll(_ backlog: inout RecordBacklog) -> [UInt32] {
        var taken: [UInt32] = []
        while backlog.count > 0 { taken += backlog.take() }
        return taken
    }

    @Test func `A few records wait by themselves, equal or not`() {
        var backlog = RecordBacklog()
        let accepted = (0..<Self.few - 1).map { backlog.append($0) }
        #expect(accepted.allSatisfy { $0 })
        #expect(Self.add(&backlog, Self.few - 1..<Self.few) { _ in 1 } == [])
        let isAccepted = backlog.append(Self.few)
        #expect(!isAccepted, "now they are many")
        #expect(backlog.take() == Array(0..<Self.few))
        #expect(backlog.count == 0)
    }

    @Test func `Where many wait, equal ones share the slot of the first`() {
        var backlog = RecordBacklog()
        _ = Self.add(&backlog, 0..<Self.few) { _ in 1 }
        #expect(Self.add(&backlog, 100..<103) { _ in 1 } == [Fold(slot: 101, other: 100), Fold(slot: 102, other: 100)])
        #expect(Self.add(&backlog, 103..<105) { _ in 2 } == [Fold(slot: 104, other: 103)])
        #expect(Self.add(&backlog, 105..<107) { _ in nil } == [], "what cannot be told is shared with nothing")
        #expect(Self.takeAll(&backlog) == Array(0..<Self.few) + [100, 103, 105, 106])
    }

    @Test func `A record that its thread still reads is compared when the next one comes`() {
        var backlog = RecordBacklog()
        let first = Self.few
        _ = Self.add(&backlog, 0..<first + 1) { _ in 1 }
        #expect(backlog.add(100, isParked: { $0 == 100 }, key: { _ in 1 }) == [])
        #expect(backlog.count == Int(first) + 2)
        #expect(backlog.add(101, isParked: { $0 == 101 }, key: { _ in 1 }) == [Fold(slot: 100, other: first)])
        // Nothing more comes: it is written by itself.
        #expect(Self.takeAll(&backlog) == Array(0...first) + [101])
    }

    @Test func `What is being written is shared no more, and what waits behind it still is`() {
        var backlog = RecordBacklog()
        _ = Self.add(&backlog, 0..<66) { Int($0) }
        #expect(backlog.take() == Array(0..<64))
        #expect(backlog.count == 2)
        _ = Self.add(&backlog, 100..<100 + Self.few) { Int($0) }
        #expect(Self.add(&backlog, 250..<251) { _ in 63 } == [])
        #expect(Self.add(&backlog, 251..<252) { _ in 65 } == [Fold(slot: 251, other: 65)])
    }

    @Test func `No more is taken than was asked for`() {
        var backlog = RecordBacklog()
        _ = Self.add(&backlog, 0..<10) { Int($0) }
        #expect(backlog.take(3) == [0, 1, 2])
        #expect(backlog.take(0) == [])
        #expect(backlog.count == 7)
    }

    @Test func `A few that could not be written wait in front, as they were`() {
        var backlog = RecordBacklog()
        _ = Self.add(&backlog, 0..<3) { _ in 1 }
        let failed = backlog.take()
        _ = Self.add(&backlog, 3..<4) { _ in 1 }
        #expect(backlog.putBack(failed, isParked: { _ in false }, key: { _ in 1 }) == [])
        #expect(backlog.take() == [0, 1, 2, 3])
    }

    @Test func `However often one thing faults on a full disk, it takes few slots`() {
        var backlog = RecordBacklog()
        var free = Array((0..<255 as Range<UInt32>).reversed())
        var faults: [UInt32: Int] = [:]
        func carryOut(_ folds: [Fold]) {
            for fold in folds {
                faults[fold.other, default: 0] += faults.removeValue(forKey: fold.slot) ?? 0
                free.append(fold.slot)
            }
        }
        for _ in 0..<1000 {
            var failed: [UInt32] = []
            var left = backlog.count
            repeat {
                let taken = backlog.take(left)
                left -= taken.count
                failed += taken
                // While a report is being written.
                for _ in 0..<10 {
                    guard let slot = free.popLast() else { continue }
                    faults[slot] = 1
                    carryOut(backlog.add(slot, isParked: { _ in false }, key: { _ in 1 }))
                }
            } while left > 0
            carryOut(backlog.putBack(failed, isParked: { _ in false }, key: { _ in 1 }))
        }
        #expect(free.count > 128)
        #expect(faults.values.reduce(0, +) == 10_000)
        #expect(Set(Self.takeAll(&backlog)) == Set(faults.keys), "none is lost, and none waits twice")
    }
}
