/// A program that measures one event loop, one row per process.
struct LoopProgram {
    let name: String
    let path: String

    /// What a process found out.
    struct Output {
        var values: [String: Double] = [:]
        var notes: [String] = []
    }

    /// Measures a row.
    ///
    /// - Parameters:
    ///   - row: The program's name of it.
    ///   - count: How many operations.
    ///   - extra: The row's own argument.
    ///   - cpus: The CPUs that the program may use, as taskset(1) takes them.
    /// - Returns: The values, by the program's names of them.
    /// - Throws: What the program complained about.
    func measure(_ row: String, _ count: Int, _ extra: Int, cpus: String) throws(MeasurementError) -> Output {
        let process = try ChildProcess(["taskset", "-c", cpus] + command(row, count, extra))
        var output = Output()
        for line in try process.finish().split(separator: "\n") {
            if line.hasPrefix("note: ") {
                output.notes.append(String(line.dropFirst("note: ".count)))
                continue
            }
            let words = line.split(separator: " ")
            guard words.count == 2, let value = Double(words[1]) else {
                throw MeasurementError("said \(line)")
            }
            output.values[String(words[0])] = value
        }
        return output
    }

    /// The command line of a row.
    func command(_ row: String, _ count: Int, _ extra: Int) -> [String] {
        [path, row, "\(count)", "\(extra)"]
    }
}
