/// What a fault boundary costs a request, and how soon a fault in one is over.
struct BoundaryBenchmark {
    let program: LoopProgram
    let quick: Bool
    let cpu: String

    private static let cost = "fault boundary around async work"
    private static let depths = [0, 8, 32, 128]
    private static let operations = ["boundary", "pool-task", "task"]

    private static func faults(_ depth: Int) -> String {
        "nil unwrap in a boundary" + (depth == 0 ? "" : " \(depth) awaits deep") + " to its error"
    }

    /// The names of the rows, in their order.
    static let names = [cost] + depths.flatMap { [faults($0), faults($0) + ", p99"] }

    func rows() throws(MeasurementError) -> [Row] {
        var times: [String: [Double]] = [:]
        for round in 0..<(quick ? 3 : 7) {
            for offset in Self.operations.indices {
                // Each goes first as often as the others.
                let row = Self.operations[(offset + round) % Self.operations.count]
                let output = try program.measure(row, quick ? 30_000 : 200_000, 0, cpus: cpu)
                times[row, default: []].append(output.values[row] ?? .nan)
            }
        }
        let medians = Self.operations.map { Sample(times[$0] ?? []).median }
        let peers = [
            Row.Peer(name: "unstructured task, same pool", value: medians[1]),
            Row.Peer(name: "unstructured task, default executor", value: medians[2]),
        ]
        var rows = [Row(Self.cost, medians[0], peers: peers)]
        for depth in Self.depths {
            let output = try program.measure("fault", quick ? 100 : 1000, depth, cpus: cpu)
            rows.append(Row(Self.faults(depth), unit: "us", output.values["median"]))
            rows.append(Row(Self.faults(depth) + ", p99", unit: "us", output.values["p99"]))
        }
        return rows
    }
}
