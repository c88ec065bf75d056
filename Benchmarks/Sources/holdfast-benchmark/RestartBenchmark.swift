import Glibc

/// How long the agent takes to be replaced, to its first answered request.
struct RestartBenchmark {
    struct Result {
        /// From posix_spawn to the line that it listens.
        var start: Sample
        /// From posix_spawn to the line of the least Swift program.
        var hello: Sample
        /// A process that is started anew: from posix_spawn to the first answer.
        var spawn: Sample
        /// A process that restarts in place: from the request that faults to the first answer of the next process.
        var inPlace: Sample
    }

    let agent: String
    let hello: String
    let rounds: Int

    func measure() throws -> Result {
        var starts: [Double] = []
        var hellos: [Double] = []
        var spawn: [Double] = []
        var inPlace: [Double] = []
        for _ in 0..<rounds {
            let greeted = now()
            let least = try ChildProcess([hello])
            guard least.readLine() == "Hello, world!\n" else { throw MeasurementError("no greeting") }
            hellos.append(now() - greeted)
            _ = try least.finish()
            let start = now()
            let process = try AgentProcess(executable: agent)
            starts.append(now() - start)
            try process.ask("PING")
            spawn.append(now() - start)
            // Once it serves, a process reads its program's tables, which takes 60 ms of a processor.
            usleep(200_000)
            let fault = now()
            // Waits for the end of the connection: then the process is being replaced.
            process.exchange("FAULT raise-segv")
            try process.ask("PING")
            inPlace.append(now() - fault)
            process.end()
        }
        return Result(start: Sample(starts), hello: Sample(hellos), spawn: Sample(spawn), inPlace: Sample(inPlace))
    }
}
