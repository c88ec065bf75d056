/// Programs that run to their end.
public enum ProgramRun {
    /// Runs a program and returns how it ended and what it wrote.
    public static func run(
        _ path: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        within limit: Duration = Deadline.patience
    ) throws -> (end: ChildProcess.End, output: String, errors: String) {
        let process = try ChildProcess(path, arguments, environment: environment)
        var output = ""
        while let line = try process.output.next(within: limit) { output += line + "\n" }
        return (try process.wait(within: limit), output, process.errors)
    }
}
