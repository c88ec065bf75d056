import Foundation
import Glibc
import SystemPackage

/// A process that uses a store until it is killed.
final class StoreProbe {
    private let process = Process()
    private let output: URL

    /// Starts it.
    init(_ command: String, _ store: FilePath, _ arguments: String...) throws {
        output = FileManager.default.temporaryDirectory.appendingPathComponent("holdfast-probe-\(UUID().uuidString)")
        _ = FileManager.default.createFile(atPath: output.path, contents: nil)
        process.executableURL = URL(fileURLWithPath: try ChildProcess.path(of: "store-probe"))
        process.arguments = [command, store.string] + arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: output)
        try process.run()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        try? FileManager.default.removeItem(at: output)
    }

    /// The whole lines that it has written so far.
    func lines() throws -> [String] {
        let text = String(decoding: try Data(contentsOf: output), as: UTF8.self)
        // What follows the last newline was being written.
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    /// Kills it, and waits for its end.
    func killAndWait() {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Waits until it has written so many lines, or is gone.
    func wait(forLines count: Int) throws {
        while process.isRunning, try lines().count < count { usleep(200) }
    }

    /// Waits for its end; gives its lines.
    func wait() throws -> [String] {
        process.waitUntilExit()
        return try lines()
    }
}

extension [String] {
    /// What follows a word at the beginnings of lines.
    func after(_ word: String) -> [String] {
        filter { $0.hasPrefix(word + " ") }.map { String($0.dropFirst(word.count + 1)) }
    }
}
