import Foundation

/// Python, with the packages that tests need.
public enum Python {
    /// That of the environment that `Tools/install --tests` makes, else whatever comes first on the path.
    private static let program: [String] = {
        let own = "\(BuiltProduct.package)/.build/python/bin/python3"
        return FileManager.default.isExecutableFile(atPath: own) ? [own] : ["/usr/bin/env", "python3"]
    }()

    /// Runs Python to its end.
    ///
    /// - Parameters:
    ///   - arguments: Its arguments, of which the first names a script.
    ///   - environment: What is added to the little that is handed on.
    ///   - limit: How long it may be silent.
    /// - Returns: How it ended and what it wrote.
    /// - Throws: `HarnessError`.
    public static func run(
        _ arguments: [String],
        environment: [String: String] = [:],
        within limit: Duration = ProgramRun.patience
    ) throws -> ProgramRun {
        try ProgramRun.run(program[0], program.dropFirst() + arguments, environment: environment, within: limit)
    }
}
