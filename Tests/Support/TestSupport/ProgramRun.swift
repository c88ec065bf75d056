/// A program that ran to its end.
public struct ProgramRun: Sendable {
    /// Long enough for a program that has much to do before it says anything, on a machine that is busy with other work.
    public static let patience: Duration = .seconds(300)

    /// How it ended.
    public let end: ChildProcess.End
    /// What it wrote to its standard output, to the byte.
    public let output: String
    /// What it wrote to its standard error.
    public let errors: String

    /// The exit code, or nil when a signal ended it.
    public var exitCode: CInt? {
        guard case .exited(let code) = end else { return nil }
        return code
    }

    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - path: The program.
    ///   - arguments: Its arguments, without its name.
    ///   - environment: What is added to the little that is handed on.
    ///   - limit: How long it may be silent, and how long it may take to end after it has closed its output.
    /// - Returns: How it ended and what it wrote.
    /// - Throws: `HarnessError`.
    public static func run(
        _ path: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        within limit: Duration = Deadline.patience
    ) throws -> ProgramRun {
        let process = try ChildProcess(path, arguments, environment: environment)
        // Its errors go to a file: nobody has to read from two pipes at once.
        let output = try process.output.rest(within: limit)
        return ProgramRun(end: try process.wait(within: limit), output: output, errors: process.errors)
    }

    /// Runs the `crashreport` that was built with the tests.
    ///
    /// - Parameters:
    ///   - arguments: Its arguments.
    ///   - environment: What is added to the little that is handed on.
    /// - Returns: How it ended and what it wrote.
    /// - Throws: `HarnessError`.
    public static func crashreport(_ arguments: [String], environment: [String: String] = [:]) throws -> ProgramRun {
        try run(BuiltProduct.path(of: "crashreport"), arguments, environment: environment, within: patience)
    }
}
