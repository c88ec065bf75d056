import CrashReports
import Foundation
public import Glibc

/// An agent that runs beside the tests, with a store of its own.
public final class AgentProcess: Sendable {
    /// The process.
    public let process: ChildProcess
    /// The port that it said to listen on.
    public let port: UInt16
    /// Its reports.
    public let store: StoreReader

    /// Options of an agent that is restarted again and again on purpose.
    public static let withoutCrashLoops = ["--crash-loop-after", "never"]

    /// Starts an agent and waits until it listens.
    ///
    /// - Parameters:
    ///   - arguments: More options.
    ///   - environment: More of the environment.
    ///   - store: A store that another agent left; nil for a fresh one.
    /// - Throws: `HarnessError`, with what the agent wrote to its standard error.
    public init(_ arguments: [String] = [], environment: [String: String] = [:], store: StoreReader? = nil) throws {
        let store = try store ?? StoreReader()
        self.store = store
        process = try ChildProcess(
            BuiltProduct.path(of: "holdfast-agent"),
            ["--store", store.path] + Self.withoutStalls(arguments) + arguments,
            environment: environment
        )
        port = try Self.listening(process)
    }

    /// Reports are counted, and a busy machine makes stalls: only who says what a stall is has any.
    private static func withoutStalls(_ arguments: [String]) -> [String] {
        arguments.contains("--stall-threshold") ? [] : ["--stall-threshold", "86400000"]
    }

    /// The process id.
    public var pid: pid_t { process.pid }

    /// Waits until the agent says that it listens, as it does at its start and after a restart in place, on the same port and with
    /// the same pid.
    public func waitForRestart() throws {
        let port = try Self.listening(process)
        guard port == self.port else { throw HarnessError("restarted on port \(port), not \(self.port)") }
    }

    private static func listening(_ process: ChildProcess) throws -> UInt16 {
        guard let line = try process.output.next() else {
            throw HarnessError("no agent: \(try process.wait()) \(process.errors.suffix(2000))")
        }
        let prefix = "listening 127.0.0.1:"
        let words = line.split(separator: " ")
        guard line.hasPrefix(prefix), words.count == 4, let port = UInt16(words[1].drop { $0 != ":" }.dropFirst()),
            words[2] == "pid", words[3] == "\(process.pid)"
        else { throw HarnessError("the agent \(process.pid) began with: \(line)") }
        return port
    }

    /// Connects to the agent.
    public func connect(receiveBuffer: Int? = nil) throws -> LineClient {
        try LineClient(port: port, receiveBuffer: receiveBuffer)
    }

    /// Asks for its statistics, on a connection of its own.
    public func statistics() throws -> AgentStatistics {
        try connect().statistics()
    }

    /// Ends it in order, which includes writing the reports that wait.
    @discardableResult
    public func stop() throws -> ChildProcess.End {
        process.kill(SIGTERM)
        return try process.wait()
    }
}

/// What `STATS` answers.
public struct AgentStatistics: Decodable, Sendable {
    /// The process id.
    public let pid: pid_t
    /// How long the agent has run.
    public let uptimeSeconds: Double
    /// Open connections.
    public let connections: Int
    /// Requests so far.
    public let requests: Int
    /// Faults that were resumed.
    public let faultsResumed: Int
    /// Restarts in place before this process.
    public let restarts: Int
    /// Whether it started in safe mode.
    public let safeMode: Bool
    /// How often the heartbeat timer has fired.
    public let heartbeats: Int
    /// How many callouts took longer than `--stall-threshold`.
    public let stalls: Int
    /// What the stacks of abandoned callouts keep mapped.
    public let buriedStackBytes: Int
}

extension LineClient {
    /// Asks the agent for its statistics.
    public func statistics() throws -> AgentStatistics {
        try JSONDecoder().decode(AgentStatistics.self, from: Data(ask("STATS").utf8))
    }
}
