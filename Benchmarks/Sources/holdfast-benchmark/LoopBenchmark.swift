/// Compares HostRunLoop with other event loops, side by side.
struct LoopBenchmark {
    let holdfast: LoopProgram
    private(set) var peers: [LoopProgram]
    let quick: Bool
    /// The CPU that all programs are pinned to.
    let cpu: String
    /// The CPUs for the rows that need two.
    let twoCPUs: String
    let filter: RowFilter

    private var programs: [LoopProgram] { [holdfast] + peers }

    init(
        holdfast: LoopProgram,
        peers: [LoopProgram],
        quick: Bool,
        cpu: String,
        twoCPUs: String,
        filter: RowFilter
    ) {
        self.holdfast = holdfast
        self.peers = peers
        self.quick = quick
        self.cpu = cpu
        self.twoCPUs = twoCPUs
        self.filter = filter
    }

    /// Measures a peer no more.
    mutating func leaveOut(_ name: String) { peers.removeAll { $0.name == name } }

    private var rounds: Int { quick ? 3 : 7 }
    /// How long a measurement of the fastest loop takes, and of the slowest at most, in nanoseconds.
    private var time: (aim: Double, most: Double) { quick ? (30e6, 150e6) : (150e6, 1e9) }

    func measure(into table: inout Table) {
        for group in LoopRows.groups(quick: quick) where group.rows.contains(where: { filter.wants($0.name) }) {
            Progress.say(group.rows[0].name)
            measure(group, into: &table)
        }
        if filter.wants(LoopRows.idle.time) || filter.wants(LoopRows.idle.wakeUps) { measureIdle(into: &table) }
        for (program, name) in LoopRows.systemCalls where filter.wants(name) {
            Progress.say(name)
            countSystemCalls(program, name, into: &table)
        }
    }

    // MARK: Times

    /// Measures some rows.
    func measure(_ group: LoopRows.Group, into table: inout Table) {
        let cpus = group.isOnTwoCPUs ? twoCPUs : cpu
        var samples: [[String: [Double]]] = Array(repeating: [:], count: programs.count)
        var failures: [String?] = Array(repeating: nil, count: programs.count)
        let taking = programs.indices.filter { programs[$0].has(group.program) }

        func run(_ index: Int, _ count: Int) -> [String: Double]? {
            do throws(MeasurementError) {
                let output = try programs[index].measure(group.program, count, group.extra, cpus: cpus)
                for note in output.notes {
                    table.add(note: "\(group.rows[0].name), \(programs[index].name): \(note)")
                }
                return output.values
            } catch {
                failures[index] = error.description
                return nil
            }
        }

        let count = group.count ?? self.count(taking) { run($0, 400)?[group.rows[0].value] }
        for round in 0..<min(rounds, group.mostRounds) {
            for offset in taking.indices {
                // Each goes first as often as the others.
                let index = taking[(offset + round) % taking.count]
                guard failures[index] == nil, let values = run(index, count) else { continue }
                for (name, value) in values { samples[index][name, default: []].append(value) }
            }
        }
        for (value, name) in group.rows where filter.wants(name) {
            let medians = programs.indices.map { index -> Double? in
                guard failures[index] == nil, let values = samples[index][value] else { return nil }
                return Sample(values).median
            }
            add(name, group.program, unit: group.unit, medians, failures, to: &table)
        }
    }

    /// Returns how many operations every program is to do, from the time that each of some takes for one.
    private func count(_ programs: [Int], _ time: (Int) -> Double?) -> Int {
        let times = programs.compactMap(time)
        guard let fastest = times.min(), let slowest = times.max() else { return 1000 }
        let count = min(self.time.aim / max(fastest, 1), self.time.most / max(slowest, 1))
        // A multiple of the numbers of threads and of active descriptors.
        return max(400, Int(count) / 400 * 400)
    }

    // MARK: System calls

    private func countSystemCalls(_ program: String, _ name: String, into table: inout Table) {
        var counts: [Double?] = []
        var failures: [String?] = []
        for loop in programs {
            guard loop.has(program) else {
                counts.append(nil)
                failures.append(nil)
                continue
            }
            do throws(MeasurementError) {
                counts.append(try SystemCalls.perOperation(of: loop, program, count: quick ? 500 : 5000, cpu: cpu))
                failures.append(nil)
            } catch {
                counts.append(nil)
                failures.append(error.description)
            }
        }
        add(name, program, unit: "calls", counts, failures, to: &table)
    }

    // MARK: Nothing to do

    private func measureIdle(into table: inout Table) {
        let seconds = quick ? 2 : 10
        Progress.say("idle loops")
        let results = IdleLoops.measure(programs, seconds: seconds, cpu: cpu)
        let failures = results.map { result -> String? in
            if case .failure(let error) = result { return error.description }
            return nil
        }
        if filter.wants(LoopRows.idle.time) {
            add(LoopRows.idle.time, "idle", unit: "us", results.map { try? $0.get().time }, failures, to: &table)
        }
        if filter.wants(LoopRows.idle.wakeUps) {
            let wakeUps = results.map { try? $0.get().wakeUps }
            add(LoopRows.idle.wakeUps, "idle", unit: "wake-ups", wakeUps, failures, to: &table)
        }
        table.add(note: "idle loop: over \(seconds) s")
    }

    // MARK: Rows

    /// Adds a row from a value of each program that has it, the first of which is Holdfast's.
    private func add(
        _ name: String,
        _ program: String,
        unit: String,
        _ values: [Double?],
        _ failures: [String?],
        to table: inout Table
    ) {
        for (program, failure) in zip(programs, failures) {
            if let failure { table.add(note: "\(name), \(program.name): not measured: \(failure)") }
        }
        let peers = zip(peers, values.dropFirst()).filter { $0.0.has(program) }.map {
            Row.Peer(name: $0.name, value: $1)
        }
        table.add(Row(name, unit: unit, values[0], peers: peers))
    }
}

/// A program that measures one event loop, one row per process.
struct LoopProgram {
    let name: String
    let path: String
    /// Whether it has a row.
    var has: (String) -> Bool = { _ in true }

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
            guard words.count == 2, let value = Double(words[1]) else { throw MeasurementError("said \(line)") }
            output.values[String(words[0])] = value
        }
        return output
    }

    /// The command line of a row.
    func command(_ row: String, _ count: Int, _ extra: Int) -> [String] { [path, row, "\(count)", "\(extra)"] }
}
