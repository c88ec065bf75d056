import Glibc

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
