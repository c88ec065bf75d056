import TestSupport
import Testing

@testable import CrashCapture

/// The table of a fixed size that items are counted in.
@Suite struct ItemTableTests {
    @Test func `What is put in is found, and nothing else`() {
        let table = Table(capacity: 8)
        for item in 1...8 as ClosedRange<UInt64> { #expect(table.insert(item &* 1_000_003, Int(item))) }
        #expect(table.isFull)
        for item in 1...8 as ClosedRange<UInt64> {
            #expect(table.value(of: item &* 1_000_003) == Int(item))
        }
        #expect(table.place(of: 5) == nil)
        #expect(table.place(of: 0) == nil)
    }

    @Test func `A full table takes nothing more, and no table takes the item that is none`() {
        let table = Table(capacity: 2)
        #expect(!table.insert(0, 1))
        #expect(table.insert(1, 1) && table.insert(2, 2))
        #expect(!table.insert(3, 3))
        #expect(table.count == 2)
    }

    @Test func `The oldest is what was used longest ago`() throws {
        let table = Table(capacity: 4)
        #expect(table.oldest == nil)
        for item in 1...3 as ClosedRange<UInt64> { #expect(table.insert(item, 0)) }
        #expect(table.oldest == 1)
        table.setValue(1, at: try #require(table.place(of: 1)))
        #expect(table.oldest == 2)
        #expect(table.remove(at: try #require(table.place(of: 2))) == 0)
        #expect(table.oldest == 3)
    }

    @Test func `A random history is that of a dictionary`() {
        let table = Table(capacity: 16)
        var model: [UInt64: Int] = [:]
        var generator = SplitMix(state: 42)
        for step in 0..<20_000 {
            let item = UInt64.random(in: 1...40, using: &generator)
            switch (table.place(of: item), Bool.random(using: &generator)) {
            case (let place?, true):
                #expect(table.remove(at: place) == model[item])
                model[item] = nil
            case (let place?, false):
                table.setValue(step, at: place)
                model[item] = step
            case (nil, _):
                let hasRoom = model.count < 16
                #expect(table.insert(item, step) == hasRoom)
                if hasRoom { model[item] = step }
            }
            guard table.count == model.count, table.value(of: item) == model[item] else {
                Issue.record("step \(step), item \(item)")
                return
            }
        }
    }
}
