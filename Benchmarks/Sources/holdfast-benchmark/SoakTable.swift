/// What an agent held in the course of a soak.
struct SoakTable {
    private var lines: [String] = []
    private static let titles = [
        "faults", "answered", "descriptors", "symbol files", "threads", "mappings", "resident", "abandoned stacks",
    ]

    init() {
        lines.append(Self.line(Self.titles))
    }

    mutating func add(_ sample: SoakCommand.Sample, faults: Int, answered: Int) {
        lines.append(
            Self.line([
                "\(faults)", "\(answered)", "\(sample.held.descriptors)", "\(sample.held.symbolFiles)",
                "\(sample.held.threads)", "\(sample.held.mappings)", Self.amount(sample.held.residentMemory),
                Self.amount(sample.agent.buriedBytes),
            ])
        )
    }

    var text: String { lines.joined(separator: "\n") }

    /// What each fault left behind.
    func perFault(
        from before: SoakCommand.Sample,
        to after: SoakCommand.Sample,
        faults: Int,
        seconds: Double
    ) -> String {
        func share(_ amount: Int) -> String { Self.decimal(Double(amount) / Double(faults)) }
        return """

            A fault left \(share(after.held.residentMemory - before.held.residentMemory)) bytes of resident memory, of which \
            \(share(after.agent.buriedBytes - before.agent.buriedBytes)) bytes are its stack, and \
            \(share(after.held.mappings - before.held.mappings)) mappings.
            \(faults) faults took \(Self.decimal(seconds)) s, \(Self.decimal(Double(faults) / seconds)) a second.
            """
    }

    private static func amount(_ bytes: Int) -> String { decimal(Double(bytes) / 1_048_576) + " MiB" }

    private static func decimal(_ value: Double) -> String {
        let rounded = (value * 100).rounded() / 100
        return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
    }

    private static func line(_ cells: [String]) -> String {
        cells.map { String(repeating: " ", count: max(0, 17 - $0.count)) + $0 }.joined()
    }
}
