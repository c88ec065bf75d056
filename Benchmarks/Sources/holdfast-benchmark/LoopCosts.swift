import Glibc

/// What loops with nothing to do cost.
enum IdleLoops {
    /// What all threads of a process used over some time.
    struct Cost {
        /// Microseconds on a CPU.
        let time: Double
        /// How often a thread went to sleep again.
        let wakeUps: Double
    }

    /// Watches all loops at the same time: they do nothing that could disturb each other.
    static func measure(_ programs: [LoopProgram], seconds: Int, cpu: String) -> [Result<Cost, MeasurementError>] {
        let processes = programs.map { program in
            Result { () throws(MeasurementError) in
                let process = try ChildProcess(["taskset", "-c", cpu] + program.command("idle", 1, 0))
                let line = process.readLine()
                guard line == "ready\n" else {
                    process.kill()
                    throw MeasurementError(line.isEmpty ? "did not start" : line)
                }
                return process
            }
        }
        // Between saying so and sleeping.
        usleep(500_000)
        let before = processes.map { $0.map { Usage(of: $0.pid) } }
        sleep(CUnsignedInt(seconds))
        let after = processes.map { $0.map { Usage(of: $0.pid) } }
        for process in processes { try? process.get().kill() }
        return zip(before, after)
            .map { before, after in
                Result { () throws(MeasurementError) in
                    let (before, after) = (try before.get(), try after.get())
                    guard before.threads > 0, before.threads == after.threads else {
                        throw MeasurementError("the process or a thread of it ended")
                    }
                    return Cost(
                        time: Double(after.time - before.time) / 1e3,
                        wakeUps: Double(after.switches - before.switches)
                    )
                }
            }
    }

    /// What the threads of a process have used so far.
    private struct Usage {
        var threads = 0
        /// Nanoseconds.
        var time = 0
        /// Voluntary context switches.
        var switches = 0

        init(of pid: pid_t) {
            let folder = "/proc/\(pid)/task"
            for thread in ProcFile.names(in: folder) {
                // "time on a CPU, time waiting for one, slices": proc(5)
                let times = ProcFile.lines(of: "\(folder)/\(thread)/schedstat").first?.split(separator: " ") ?? []
                let numbers = ProcFile.numbers(of: "\(folder)/\(thread)/status")
                guard let time = times.first.flatMap({ Int($0) }), let switches = numbers["voluntary_ctxt_switches"]
                else { continue }
                threads += 1
                self.time += time
                self.switches += switches
            }
        }
    }
}

/// System calls, counted by strace(1).
enum SystemCalls {
    /// Returns how many system calls an operation costs, in all threads of the program.
    ///
    /// The difference between a run and one of twice as many operations: what a program does once is in both.
    static func perOperation(
        of loop: LoopProgram,
        _ row: String,
        count: Int,
        cpu: String
    ) throws(MeasurementError) -> Double {
        let once = try total(loop.command(row, count, 0), cpu: cpu)
        let twice = try total(loop.command(row, 2 * count, 0), cpu: cpu)
        // A hundredth is what a growing heap or a lock that was held makes, not the operation.
        return (Double(twice - once) * 100 / Double(count)).rounded(.towardZero) / 100 + 0
    }

    private static func total(_ command: [String], cpu: String) throws(MeasurementError) -> Int {
        let file = "/tmp/holdfast-benchmark-strace-\(getpid())"
        defer { unsafe unlink(file) }
        let process = try ChildProcess(["taskset", "-c", cpu, "strace", "-f", "-c", "-o", file] + command)
        _ = try process.finish()
        // "% time  seconds  usecs/call  calls  [errors]  syscall"
        let counts = ProcFile.lines(of: file)
            .compactMap { line -> Int? in
                let words = line.split(separator: " ")
                guard words.count >= 5, words.last != "total" else { return nil }
                return Int(words[3])
            }
        guard !counts.isEmpty else { throw MeasurementError("strace counted nothing") }
        return counts.reduce(0, +)
    }
}
