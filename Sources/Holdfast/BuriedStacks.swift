internal import Synchronization

/// How much memory the stacks of abandoned callouts keep.
final class BuriedStacks: Sendable {
    private let total = Atomic<Int>(0)

    var bytes: Int { total.load(ordering: .relaxed) }

    func add(_ bytes: Int) {
        total.add(bytes, ordering: .relaxed)
    }
}
