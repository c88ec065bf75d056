extension CrashReport {
    /// A word, where [the form of reports](CrashReportFormat.md) has a list of words, such as `fault` or `timer`.
    ///
    /// One that this version does not know is kept as it is. It compares with a literal: `breadcrumb.kind == "timer"`.
    public struct Word: RawRepresentable, ExpressibleByStringLiteral, CustomStringConvertible, Codable, Sendable,
        Hashable
    {
        /// The word as it is in JSON.
        public let rawValue: String

        /// Takes a word.
        ///
        /// - Parameter rawValue: The word as it is in JSON.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Takes a word.
        ///
        /// - Parameter literal: The word as it is in JSON.
        public init(stringLiteral literal: String) {
            rawValue = literal
        }

        /// The word as it is in JSON.
        public var description: String { rawValue }
    }
}

extension CrashReport.Word {
    /// A fault: the code could not go on.
    public static let fault: Self = "fault"
    /// Something should have gone on and did not.
    public static let stall: Self = "stall"
    /// A process has ended.
    public static let death: Self = "death"
    /// The callout was abandoned, and the process goes on.
    public static let resume: Self = "resume"
    /// The process restarts in place.
    public static let restart: Self = "restart"
    /// The process ends.
    public static let terminate: Self = "terminate"
    /// Nothing is done: a stall may end by itself.
    public static let wait: Self = "wait"

    // Those that the code here compares with.
    package static let note: Self = "note"
    package static let source: Self = "source"
    package static let port: Self = "port"
    package static let timer: Self = "timer"
    package static let observer: Self = "observer"
    package static let block: Self = "block"
    package static let mainQueue: Self = "mainQueue"
    package static let task: Self = "task"
    package static let entry: Self = "entry"
    package static let exit: Self = "exit"
    package static let sleep: Self = "sleep"
    package static let signal: Self = "signal"
    package static let read: Self = "read"
    package static let write: Self = "write"
    package static let execute: Self = "execute"
    package static let none: Self = "none"
    package static let running: Self = "running"
    package static let queued: Self = "queued"
    package static let waiting: Self = "waiting"
    package static let unknown: Self = "unknown"
    package static let noCode: Self = "null page"
    package static let stackGuard: Self = "stack guard"
    package static let unmapped: Self = "unmapped"
    package static let readOnly: Self = "read-only memory"
    package static let notExecutable: Self = "memory that is not executable"
    package static let inaccessible: Self = "inaccessible memory"
    package static let pastEndOfFile: Self = "past the end of a mapped file"
    package static let nonCanonical: Self = "non-canonical"
    package static let kernel: Self = "kernel memory"
    package static let inside: Self = "inside"
    package static let after: Self = "after"
    package static let before: Self = "before"
    package static let starting: Self = "starting"
    package static let serving: Self = "serving"
    package static let sleeping: Self = "sleeping"
    package static let waitingForDisk: Self = "waiting for disk"
    package static let stopped: Self = "stopped"
    package static let ended: Self = "ended"
    package static let programCounter: Self = "programCounter"
    package static let returnAddress: Self = "returnAddress"
    package static let await: Self = "await"
    package static let parentAwait: Self = "parentAwait"
    package static let loop: Self = "loop"
    package static let ping: Self = "ping"
    package static let job: Self = "job"
    package static let wentOn: Self = "went on"
    package static let abandoned: Self = "abandoned"
    package static let never: Self = "never ended"
    package static let ready: Self = "ready, not scheduled"
    package static let lock: Self = "waiting for a lock"
    package static let systemCall: Self = "in a system call"
    package static let disk: Self = "waiting for disk"
}
