/// The processes that are to end because others have taken over from them, and may not be told so yet: one that runs still hands over to them,
/// and what comes after their end would be lost.
@MainActor
struct Retirements {
    private var waiting: [(generation: Generation, successor: Generation)] = []

    /// Adds one.
    mutating func add(_ generation: Generation, for successor: Generation) { waiting.append((generation, successor)) }

    /// Forgets one that has ended.
    mutating func remove(_ generation: Generation) { waiting.removeAll { $0.generation === generation } }

    /// Another process has taken the place of a successor.
    ///
    /// - Parameters:
    ///   - successor: The successor.
    ///   - heir: The other one.
    ///   - leaving: All that are on their way to their end.
    mutating func replace(_ successor: Generation, by heir: Generation, _ leaving: [Generation]) {
        for generation in leaving { generation.noteHeir(heir, of: successor) }
        for index in waiting.indices where waiting[index].successor === successor { waiting[index].successor = heir }
    }

    /// Tells those to which nobody hands over any more; the others accept no more connections meanwhile.
    ///
    /// - Parameter leaving: All that are on their way to their end.
    mutating func tell(_ leaving: [Generation]) {
        for (generation, successor) in waiting {
            let isHeir =
                leaving.contains { $0.mayHandOver && $0.successor === generation }
                || waiting.contains { $0.successor === generation }
            if isHeir {
                generation.rest()
                continue
            }
            remove(generation)
            generation.retire(for: successor)
        }
    }
}
