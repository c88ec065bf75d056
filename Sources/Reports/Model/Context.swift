extension CrashReport {
    /// What the process was doing, had and was allowed when it faulted.
    ///
    /// Each part is nil or empty when it could not be had, or when the process was too badly off to ask.
    public struct Context: Codable, Sendable, Hashable {
        /// What went before the fault, the oldest first.
        public var breadcrumbs: [Breadcrumb] = []
        /// How many breadcrumbs there were before these, and gave way to them.
        public var breadcrumbsLost: Int = 0
        /// What the user's code said of its state, such as `queue: 17 waiting`.
        public var annotations: [String: String] = [:]
        /// Short values to tell reports apart by, such as `region: eu-1`.
        public var tags: [String: String] = [:]
        /// The variables of the environment that may be told.
        public var environment: [String: String] = [:]
        /// The memory of the process and of the machine.
        public var memory: Memory?
        /// The load averages of the last 1, 5 and 15 minutes.
        public var load: [Double]?
        /// The descriptors of the process.
        public var descriptors: Descriptors?
        /// How many threads the process had.
        public var threadCount: Int?
        /// The limits of the process, by name as in `/proc/PID/limits`, such as `Max open files`.
        package var limits: [String: Limit] = [:]
        /// The container or the control group that the process ran in.
        public var container: Container?
    }
}

extension CrashReport.Context {
    /// The memory of the process and of the machine, in bytes.
    public struct Memory: Codable, Sendable, Hashable {
        /// What the process had in physical memory.
        public var resident: Int
        /// The most that it ever had there, if known.
        public var peakResident: Int?
        /// What it had mapped.
        public var virtual: Int
        /// What the machine has, if known.
        public var systemTotal: Int?
        /// What the machine could give to programs without swapping, if known.
        public var systemAvailable: Int?
    }

    /// The descriptors of the process.
    public struct Descriptors: Codable, Sendable, Hashable {
        /// How many were open.
        public var open: Int
        /// How many may be, if there is a limit.
        public var limit: Int?
    }

    /// A limit of the process (getrlimit(2)); nil is unlimited.
    package struct Limit: Codable, Sendable, Hashable {
        /// What holds.
        package var soft: Int?
        /// What it may be raised to.
        package var hard: Int?
    }

    /// The container or the control group that a process ran in.
    public struct Container: Codable, Sendable, Hashable {
        /// What made the container, such as `docker` or `systemd-nspawn`, if that can be told.
        public var runtime: String?
        /// The identifier of the container, if it has one.
        public var id: String?
        /// The control group, as in `/proc/PID/cgroup`.
        public var controlGroup: String?
        /// The memory that the control group may have, in bytes, if it is limited.
        public var memoryLimit: Int?
        /// The processors that the control group may use, if they are limited.
        public var processorLimit: Double?
    }
}

extension CrashReport {
    /// Something that happened before a fault: an event of the loop, or a note of the user's.
    public struct Breadcrumb: Codable, Sendable, Hashable {
        package typealias Kind = CrashReport.Word

        /// When it happened.
        public var time: Timestamp
        /// What it is.
        public var kind: CrashReport.Word
        /// What happened: the label of what was called, or the text of the note.
        public var text: String
        /// The thread it happened on, as `gettid` gives it, if known.
        public var thread: Int?
        /// How a note was logged, such as `warning`; nil for an event of the loop.
        public var level: String?
    }
}
