import Foundation
import Glibc
import SystemPackage
import TestSupport

/// A process that uses a store until it is killed, and never waits for a reader of what it says.
final class StoreProbe {
    private let process: ChildProcess
    private let folder: TemporaryFolder
    private let output: String

    /// Starts it.
    init(_ command: String, _ store: FilePath, _ arguments: String...) throws {
        folder = try TemporaryFolder()
        output = try folder.write("", to: "output")
        process = try ChildProcess(
            BuiltProduct.path(of: "store-probe"),
            [command, store.string] + arguments,
            outputPath: output
        )
    }

    /// The whole lines that it has written so far.
    func lines() throws -> [String] {
        let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: output)), as: UTF8.self)
        // What follows the last newline was being written.
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    /// Kills it, and waits for its end.
    func killAndWait() throws {
        process.kill(SIGKILL)
        _ = try process.wait()
    }

    /// Waits until it has written so many lines.
    func wait(forLines count: Int) throws {
        try FolderWatch.wait(at: output, within: ProgramRun.patience, for: "\(count) lines of a probe") {
            try lines().count >= count ? () : nil
        }
    }

    /// Waits for its end; gives its lines.
    func wait() throws -> [String] {
        _ = try process.wait(within: ProgramRun.patience)
        return try lines()
    }
}

extension [String] {
    /// What follows a word at the beginnings of lines.
    func after(_ word: String) -> [String] {
        filter { $0.hasPrefix(word + " ") }.map { String($0.dropFirst(word.count + 1)) }
    }
}
