import CRecoveryPoint
import Testing

@testable import RunLoops

/// Labels, in the form in which a signal handler reads them.
@Suite struct ItemNameTests {
    @Test(
        "A label is what it was made of, wherever its string lies",
        arguments: [
            "", "a", "seven b", "eight by", "fifteen bytes..", "sixteen bytes...", "ünfzehn Bytes.", "🐟🐟🐟",
            "a longer one, which is copied",
        ]
    )
    func text(_ label: String) {
        // The second lies in memory of its own, even if it is short.
        var inMemory = String()
        inMemory.reserveCapacity(100)
        inMemory += label
        for text in [label, inMemory] {
            let name = ItemName(text)
            #expect(name.text == label)
            var info = HFCalloutInfo()
            withUnsafeMutablePointer(to: &info) { info in
                name.describe(info)
                #expect(info.pointee.label.map { String(cString: $0) } == label)
            }
        }
    }
}
