import Glibc

/// How long the agent takes to be replaced, to its first answered request.
struct RestartBenchmark {
    struct Result {
        /// A process that is started anew: from posix_spawn to the first answer.
        var spawn: Sample
        /// A process that restarts in place: from the request that faults to the first answer of the next process.
        var inPlace: Sample
    }

    let agent: String
    let rounds: Int

    func measure() throws -> Result {
        var spawn: [Double] = []
        var inPlace: [Double] = []
        for _ in 0..<rounds {
            let start = now()
            let process = try AgentProcess(executable: agent)
            try process.ask("PING")
            spawn.append(now() - start)
            let fault = now()
            // Waits for the end of the connection: then the process is being replaced.
            process.exchange("FAULT raise-segv")
            try process.ask("PING")
            inPlace.append(now() - fault)
            process.end()
        }
        return Result(spawn: Sample(spawn), inPlace: Sample(inPlace))
    }
}
