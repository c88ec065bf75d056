import Glibc

/// The CPUs of the main thread, and of what it starts.
enum Affinity {
    /// Runs something on some CPUs, and goes on on those from before.
    ///
    /// - Parameters:
    ///   - cpus: Their numbers, separated by commas.
    ///   - before: Those from before.
    ///   - body: What is run.
    /// - Returns: What that returns.
    /// - Throws: What that throws, or `MeasurementError`.
    static func run<T>(on cpus: String, before: String, _ body: () throws -> T) throws -> T {
        try set(cpus)
        let result = Result { try body() }
        try set(before)
        return try result.get()
    }

    /// Asks taskset(1), for the overlay has no sched_setaffinity(2).
    ///
    /// The id of the main thread is that of the process.
    private static func set(_ cpus: String) throws {
        _ = try ChildProcess(["taskset", "-cp", cpus, String(getpid())]).finish()
    }
}
