import CrashReports
import Foundation
import Glibc
import TestSupport
import Testing

/// `holdfast run` with a store of its own.
struct Supervised {
    let store: StoreReader
    let process: ChildProcess

    /// Starts it.
    ///
    /// - Parameters:
    ///   - options: Options beside the store.
    ///   - command: The program.
    ///   - store: The store; a new one by default.
    /// - Throws: `HarnessError`.
    init(_ options: [String] = [], _ command: [String], store: StoreReader? = nil) throws {
        let store = try store ?? StoreReader()
        self.store = store
        process = try ChildProcess(
            BuiltProduct.path(of: "holdfast"),
            ["run", "--store", store.path, "--termination-log", ""] + options + ["--"] + command
        )
    }

    /// Starts the programs of a file.
    ///
    /// - Parameter file: The path of the file.
    /// - Throws: `HarnessError`.
    init(file: String) throws {
        store = try StoreReader()
        process = try ChildProcess(
            BuiltProduct.path(of: "holdfast"),
            ["run", "--store", store.path, "--termination-log", "", "--file", file]
        )
    }

    /// Runs a program to its end.
    ///
    /// - Returns: How the supervisor ended, its standard error, and the reports of all deaths, the oldest first.
    /// - Throws: `HarnessError`.
    static func run(
        _ options: [String] = [],
        _ command: [String],
        store: StoreReader? = nil
    ) throws -> (end: ChildProcess.End, errors: String, reports: [CrashReport]) {
        let supervised = try Supervised(options, command, store: store)
        let end = try supervised.process.wait()
        return (end, supervised.process.errors, try supervised.reports())
    }

    /// The reports of all deaths so far, the oldest first.
    func reports() throws -> [CrashReport] {
        _ = try store.list()
        return try store.reports().sorted {
            ($0.timestamp.description, $0.id.rawValue) < ($1.timestamp.description, $1.id.rawValue)
        }
    }

    /// The ends of its programs, once there are `count` of them.
    ///
    /// A process that another one has succeeded ends a moment later, or is ended as it does: only its end says which.
    func deaths(once count: Int) throws -> [CrashReport.Death] {
        let deadline = Deadline()
        while true {
            let deaths = try reports().compactMap(\.death)
            if deaths.count >= count { return deaths }
            try #require(!deadline.hasPassed, "\(process.errors)")
        }
    }

    /// The next line that a program of it writes.
    func line() throws -> String { try #require(try process.output.next()) }

    /// The number in the next line, which is `up PID`.
    func nextPid() throws -> CInt {
        let line = try line()
        return try #require(line.split(separator: " ").last.flatMap { CInt($0) }, "\(line)")
    }

    /// Gives an order; returns how the command ended and what it said.
    func order(_ name: String, _ arguments: [String] = []) throws -> ProgramRun {
        try ProgramRun.run(BuiltProduct.path(of: "holdfast"), [name, "--store", store.path] + arguments)
    }

    /// Its state, as `holdfast status --json` has it.
    func status() throws -> [String: Any] {
        let run = try order("status", ["--json"])
        guard run.end == .exited(0) else { throw HarnessError("status: \(run.errors)") }
        let object = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
        let programs = try #require(object?["programs"] as? [[String: Any]])
        return try #require(programs.first)
    }

    /// Its state, once it is in `state`.
    ///
    /// A program can run before its supervisor has seen that it does.
    func status(once state: String) throws -> [String: Any] {
        let deadline = Deadline()
        while true {
            let status = try status()
            if status["state"] as? String == state { return status }
            try #require(!deadline.hasPassed, "\(status)")
        }
    }

    /// What has a process stand by as soon as another one serves.
    ///
    /// - Parameter port: Where both listen.
    /// - Returns: Options.
    static func standingBy(_ port: UInt16) -> [String] {
        let listening = ["--ready", "notify", "--listen", "tcp:127.0.0.1:\(port)"]
        return ["--standby", "--restart", "always", "--healthy-after", "1ms"] + listening
    }

    /// `standby-server`, of which a process stands by.
    ///
    /// - Parameter options: Its words after the store.
    /// - Returns: It, and where it listens.
    /// - Throws: The error of a call.
    static func standbyServer(_ options: String...) throws -> (supervised: Supervised, port: UInt16) {
        let port = try Loopback.freePort()
        let store = try StoreReader()
        let server = [try BuiltProduct.path(of: "standby-server"), "\(port)", store.path]
        return (try Supervised(standingBy(port), server + options, store: store), port)
    }

    /// Waits until a process stands by.
    func waitForStandby() throws {
        let deadline = Deadline()
        while try status()["standby"] as? String != "ready" {
            if deadline.hasPassed { throw HarnessError("nobody stands by: \(process.errors)") }
        }
    }
}

/// Who answers: the number of the process in what an agent says to STATS.
func agentPid(_ stats: String?) -> CInt? {
    let object = try? JSONSerialization.jsonObject(with: Data((stats ?? "").utf8)) as? [String: Any]
    return (object?["pid"] as? Int).map(CInt.init)
}

/// A namespace of processes, in which the first program is process 1.
enum ProcessNamespace {
    /// The command that makes one.
    static let command = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]

    /// Whether this user may make one.
    static let isAllowed = (try? ProgramRun.run("/usr/bin/env", command + ["true"]).end) == .exited(0)
}

/// A shell's program that says `up PID` and waits.
let waiter = ["sh", "-c", "echo up $$; exec sleep 1000"]
