/// The functions that call each other again and again on a stack that is used up.
struct RecursionCycle: Equatable {
    /// Fewer occurrences are no recursion that could use up a stack.
    private static let leastOccurrences = 4

    /// The functions by the names that readers see, in the order in which they were called last, the innermost first.
    let functions: [String]
    /// The same in the form in which names count for a fingerprint, in the order of the alphabet.
    let stableNames: [String]

    /// Finds them; nil where nothing repeats itself.
    ///
    /// Functions of the program stand for the cycle if there are any: a runtime's differ by version.
    init?(_ frames: [CrashReport.Frame]) {
        var counts: [String: Int] = [:]
        for frame in frames {
            if let function = frame.function, frame.runtimeFailure == nil { counts[function, default: 0] += 1 }
        }
        let repeated = frames.filter { counts[$0.function ?? "", default: 0] >= Self.leastOccurrences }
        let own = repeated.filter(\.isUserCode)
        var seen: Set<String> = []
        let cycle = own.isEmpty ? repeated : own
        functions = cycle.compactMap(\.function).filter { seen.insert($0).inserted }
        stableNames = Set(StableName.functions(of: cycle)).sorted()
        if functions.isEmpty { return nil }
    }
}
