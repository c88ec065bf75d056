import Foundation
import Testing

/// A program that ran to its end.
struct ChildProcess {
    /// The exit code, or nil when a signal ended it.
    let exitCode: Int32?
    /// What it wrote to its standard output.
    let output: String
    /// What it wrote to its standard error.
    let errors: String

    /// Runs the `crashreport` that was built with the tests.
    static func crashreport(_ arguments: [String], environment: [String: String] = [:]) throws -> ChildProcess {
        try ChildProcess(try path(of: "crashreport"), arguments, environment: environment)
    }

    /// Finds a program that was built with the tests.
    static func path(of name: String) throws -> String {
        // It is beside the bundle, whose path is the first argument of whoever runs the tests.
        let bundle = try #require(
            CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments.first
        )
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent(name).path
    }

    /// Runs a program to its end.
    init(_ path: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        // Enough to find the libraries; the store of whoever runs the tests is none of ours.
        let kept = ProcessInfo.processInfo.environment.filter { ["LD_LIBRARY_PATH", "PATH"].contains($0.key) }
        process.environment = kept.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        // Files rather than pipes: nobody has to read two of them at once.
        let folder = FileManager.default.temporaryDirectory
        let files = ["output", "errors"].map { folder.appendingPathComponent("holdfast-\($0)-\(UUID().uuidString)") }
        defer { for file in files { try? FileManager.default.removeItem(at: file) } }
        let handles = try files.map { file in
            _ = FileManager.default.createFile(atPath: file.path, contents: nil)
            return try FileHandle(forWritingTo: file)
        }
        process.standardOutput = handles[0]
        process.standardError = handles[1]
        try process.run()
        process.waitUntilExit()
        for handle in handles { try handle.close() }
        exitCode = process.terminationReason == .exit ? process.terminationStatus : nil
        output = String(decoding: try Data(contentsOf: files[0]), as: UTF8.self)
        errors = String(decoding: try Data(contentsOf: files[1]), as: UTF8.self)
    }
}
