import ArgumentParser
import FaultInjection
import Glibc

/// Commits very many faults under load, and looks at what the agent holds meanwhile.
struct SoakCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract: "Commits very many faults in one agent under load.",
        discussion: """
            Fails if a request is lost that was no fault, if the agent is restarted, or if it holds more descriptors or threads at the \
            end than at the start.
            """
    )

    @Option(help: "The agent.")
    var agent: String

    @Option(help: "How many faults.")
    var faults = 100_000

    @Option(help: "How many connections ask meanwhile.")
    var connections = 10

    /// What is resumed by default.
    ///
    /// A stack overflow is not among them: its frames are a megabyte, which is kept.
    private static let mix: [Fault] = [
        .nilUnwrap, .indexOutOfRange, .overflow, .precondition, .fatalError, .tryBang, .asBang, .duplicateKey,
        .exclusivity, .nullRead, .nullWrite, .nullCall, .divideByZero, .ud2, .int3, .abort, .assert,
    ]

    private static let samples = 10

    func validate() throws {
        guard faults > 0 else { throw ValidationError("--faults takes a number above 0.") }
        guard (1...1000).contains(connections) else { throw ValidationError("--connections takes 1 to 1000.") }
    }

    func run() throws {
        let process = try AgentProcess(executable: agent)
        defer { process.end() }
        let client = LoadClient(port: process.port, connections: connections + 1, thinkTime: 0.2e6)
        // Reports of every kind, so that what is read for the first ones has been read.
        for round in 0..<2 * Self.mix.count { try commit(Self.mix[round % Self.mix.count], client) }
        client.run(for: 1e9)
        let before = try sample(process, client)
        var table = SoakTable()
        table.add(before, faults: 0, answered: client.counts.answered)
        let start = now()
        for number in 1...faults {
            try commit(Self.mix[number % Self.mix.count], client)
            guard number % max(1, faults / Self.samples) == 0, number < faults else { continue }
            Progress.say("\(number) of \(faults) faults")
            let during = try sample(process, client)
            guard during.agent.pid == before.agent.pid, during.agent.restarts == 0 else {
                Progress.end()
                print(table.text)
                throw MeasurementError("the agent was restarted before fault \(number)")
            }
            table.add(during, faults: number, answered: client.counts.answered)
        }
        let seconds = (now() - start) / 1e9
        let after = try settled(process, client, as: before)
        Progress.end()
        let left = client.finish(within: 5e9)
        table.add(after, faults: faults, answered: client.counts.answered)
        print(table.text)
        print(table.perFault(from: before, to: after, faults: faults, seconds: seconds))
        try check(client.counts, left: left, before, after)
    }

    /// The first connection faults, the others ask.
    private func commit(_ fault: Fault, _ client: LoadClient) throws {
        client.commit(fault.rawValue, on: 0)
        let end = now() + 30e9
        while !client.isThrough(0) {
            guard now() < end else { throw MeasurementError("the connection of \(fault) was not ended") }
            client.step(until: now() + 1e7)
        }
    }

    /// A sample after the last report was written: until then its files are open.
    ///
    /// The writer gives way to the agent, which the load keeps busy: hundreds of records that wait take it a while.
    private func settled(_ process: AgentProcess, _ client: LoadClient, as before: Sample) throws -> Sample {
        let end = now() + 120e9
        while true {
            client.run(for: 1e9)
            let sample = try sample(process, client)
            if sample.held.descriptors <= before.held.descriptors || now() > end { return sample }
        }
    }

    private func check(_ counts: LoadClient.Counts, left: Int, _ before: Sample, _ after: Sample) throws {
        var complaints: [String] = []
        if counts.lost + left > 0 { complaints.append("\(counts.lost + left) requests that were no faults were lost") }
        if counts.wrong + counts.faultsAnswered > 0 {
            complaints.append("\(counts.wrong + counts.faultsAnswered) answers are not those that were expected")
        }
        if after.agent.pid != before.agent.pid || after.agent.restarts > 0 {
            complaints.append("the agent was restarted \(after.agent.restarts) times")
        } else if after.agent.resumed - before.agent.resumed != faults {
            complaints.append("\(after.agent.resumed - before.agent.resumed) of \(faults) faults were resumed")
        }
        if after.held.descriptors > before.held.descriptors { complaints.append("descriptors were left open") }
        // A file and its debug information.
        if after.held.symbolFiles > 2 * after.held.mappedFiles {
            complaints.append("files with symbols were left open")
        }
        if after.held.threads > before.held.threads { complaints.append("threads were left behind") }
        guard complaints.isEmpty else { throw MeasurementError(complaints.joined(separator: "; ")) }
        print("All \(counts.answered) requests that were no faults were answered, by the agent that was started.")
    }

    // MARK: Samples

    /// What the agent says of itself, and what the kernel says of it.
    struct Sample {
        struct Agent {
            var pid: Int
            var restarts: Int
            var resumed: Int
            var buriedBytes: Int
        }

        var agent: Agent
        var held: ProcessSample
    }

    /// Asks on a connection of its own, which is open while the descriptors are counted: always the same number.
    private func sample(_ process: AgentProcess, _ client: LoadClient) throws -> Sample {
        let answer = process.exchange("STATS")
        func number(_ key: String) -> Int? {
            guard let start = answer.firstRange(of: "\"\(key)\":")?.upperBound else { return nil }
            return Int(answer[start...].prefix { $0.isNumber })
        }
        guard let pid = number("pid"), let restarts = number("restarts"), let resumed = number("faultsResumed"),
            let buried = number("buriedStackBytes")
        else { throw MeasurementError("the agent answered \(answer)") }
        // Until it has noticed that the connection is gone, and has all others.
        let end = now() + 30e9
        repeat { client.run(for: 0.2e9) } while !client.isWhole && now() < end
        guard let held = ProcessSample(pid: pid) else { throw MeasurementError("the agent is gone") }
        return Sample(
            agent: .init(pid: pid, restarts: restarts, resumed: resumed, buriedBytes: buried),
            held: held
        )
    }
}

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
