import Glibc
import TestSupport

/// A scenario of `recovery-probe` with arguments, which the test talks to while it runs.
struct HostRun {
    let process: ChildProcess
    let store: StoreReader

    /// Starts it.
    ///
    /// - Parameters:
    ///   - scenario: Its name.
    ///   - arguments: What it is told.
    ///   - shell: A script that becomes the probe by `exec "$@"`; nil for none.
    ///   - program: Another copy of the probe.
    ///   - prefix: A program that runs the probe, with its options.
    ///   - environment: What is added to its environment.
    ///   - store: The store of another run; nil for a new one.
    /// - Throws: `HarnessError`.
    init(
        _ scenario: String,
        _ arguments: String...,
        shell: String? = nil,
        program: String? = nil,
        prefix: [String] = [],
        environment: [String: String] = [:],
        store: StoreReader? = nil
    ) throws {
        let store = try store ?? StoreReader()
        self.store = store
        var command = [try program ?? BuiltProduct.path(of: "recovery-probe"), scenario, store.path] + arguments
        if let shell { command = ["/bin/sh", "-c", shell, "sh"] + command }
        command = prefix + command
        process = try ChildProcess(command[0], Array(command.dropFirst()), environment: environment)
    }

    /// The next line.
    func line() throws -> String? { try process.output.next() }

    /// The lines up to the end.
    func lines() throws -> [String] {
        var lines: [String] = []
        while let line = try process.output.next() { lines.append(line) }
        return lines
    }

    /// Sends a signal with a value, and says whether the kernel took it.
    func queue(_ signal: CInt, _ value: Int = 0) -> Bool {
        sigqueue(process.pid, signal, sigval(sival_ptr: UnsafeMutableRawPointer(bitPattern: value))) == 0
    }
}
