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
        for process in processes {
            try? process.get().kill()
        }
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
                let line = ProcFile.lines(of: "\(folder)/\(thread)/status")
                    .first { $0.hasPrefix("voluntary_ctxt_switches:") }
                guard
                    let time = times.first.flatMap({ Int($0) }),
                    let switches = line?.split(whereSeparator: \.isWhitespace).last.flatMap({ Int($0) })
                else { continue }
                threads += 1
                self.time += time
                self.switches += switches
            }
        }
    }
}
