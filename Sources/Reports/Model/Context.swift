extension CrashReport {
    /// What the process was doing, had and was allowed when it faulted.
    ///
    /// Each part is nil or empty when it could not be had, or when the process was too badly off to ask.
    public struct Context: Codable, Sendable, Hashable {
        /// What went before the fault, the oldest first.
        public var breadcrumbs: [Breadcrumb]
        /// How many breadcrumbs there were before these, and gave way to them.
        public var breadcrumbsLost: Int
        /// What the user's code said of its state, such as `queue: 17 waiting`.
        public var annotations: [String: String]
        /// Short values to tell reports apart by, such as `region: eu-1`.
        public var tags: [String: String]
        /// The variables of the environment that may be told.
        public var environment: [String: String]
        /// The memory of the process and of the machine.
        public var memory: Memory?
        /// The load averages of the last 1, 5 and 15 minutes.
        public var load: [Double]?
        /// The descriptors of the process.
        public var descriptors: Descriptors?
        /// How many threads the process had.
        public var threadCount: Int?
        /// The limits of the process, by name as in `/proc/PID/limits`, such as `Max open files`.
        public var limits: [String: Limit]
        /// The container or the control group that the process ran in.
        public var container: Container?

        /// Makes a context; what is not given is not known.
        package init(
            breadcrumbs: [Breadcrumb] = [],
            breadcrumbsLost: Int = 0,
            annotations: [String: String] = [:],
            tags: [String: String] = [:],
            environment: [String: String] = [:],
            memory: Memory? = nil,
            load: [Double]? = nil,
            descriptors: Descriptors? = nil,
            threadCount: Int? = nil,
            limits: [String: Limit] = [:],
            container: Container? = nil
        ) {
            self.breadcrumbs = breadcrumbs
            self.breadcrumbsLost = breadcrumbsLost
            self.annotations = annotations
            self.tags = tags
            self.environment = environment
            self.memory = memory
            self.load = load
            self.descriptors = descriptors
            self.threadCount = threadCount
            self.limits = limits
            self.container = container
        }
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

        /// Makes a statement of memory, in bytes.
        package init(
            resident: Int,
            peakResident: Int? = nil,
            virtual: Int,
            systemTotal: Int? = nil,
            systemAvailable: Int? = nil
        ) {
            self.resident = resident
            self.peakResident = peakResident
            self.virtual = virtual
            self.systemTotal = systemTotal
            self.systemAvailable = systemAvailable
        }
    }

    /// The descriptors of the process.
    public struct Descriptors: Codable, Sendable, Hashable {
        /// How many were open.
        public var open: Int
        /// How many may be, if there is a limit.
        public var limit: Int?

        /// Makes a count of descriptors.
        package init(open: Int, limit: Int? = nil) {
            self.open = open
            self.limit = limit
        }
    }

    /// A limit of the process (getrlimit(2)); nil is unlimited.
    public struct Limit: Codable, Sendable, Hashable {
        /// What holds.
        public var soft: Int?
        /// What it may be raised to.
        public var hard: Int?

        /// Makes a limit; nil is unlimited.
        package init(soft: Int? = nil, hard: Int? = nil) {
            self.soft = soft
            self.hard = hard
        }
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

        /// Makes the description of a container.
        package init(
            runtime: String? = nil,
            id: String? = nil,
            controlGroup: String? = nil,
            memoryLimit: Int? = nil,
            processorLimit: Double? = nil
        ) {
            self.runtime = runtime
            self.id = id
            self.controlGroup = controlGroup
            self.memoryLimit = memoryLimit
            self.processorLimit = processorLimit
        }
    }
}

extension CrashReport {
    /// Something that happened before a fault: an event of the loop, or a note of the user's.
    public struct Breadcrumb: Codable, Sendable, Hashable {
        /// When it happened.
        public var time: Timestamp
        /// What it is.
        public var kind: Kind
        /// What happened: the label of what was called, or the text of the note.
        public var text: String
        /// The thread it happened on, as `gettid` gives it, if known.
        public var thread: Int?
        /// How a note was logged, such as `warning`; nil for an event of the loop.
        public var level: String?

        /// Makes a breadcrumb.
        package init(time: Timestamp, kind: Kind, text: String, thread: Int? = nil, level: String? = nil) {
            self.time = time
            self.kind = kind
            self.text = text
            self.thread = thread
            self.level = level
        }
    }
}

extension CrashReport.Breadcrumb {
    /// What a breadcrumb is of.
    ///
    /// A value that this version does not know is kept as it is.
    public struct Kind: RawRepresentable, Codable, Sendable, Hashable {
        /// The value in JSON.
        public let rawValue: String

        /// Takes a value.
        ///
        /// - Parameter rawValue: The value in JSON.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A line that the user's code logged.
        public static let note = Kind(rawValue: "note")
        /// A source was called.
        public static let source = Kind(rawValue: "source")
        /// A port source was called.
        public static let port = Kind(rawValue: "port")
        /// A timer was called.
        public static let timer = Kind(rawValue: "timer")
        /// An observer was called.
        public static let observer = Kind(rawValue: "observer")
        /// A block was performed.
        public static let block = Kind(rawValue: "block")
        /// A job of the main queue ran.
        public static let mainQueue = Kind(rawValue: "mainQueue")
        /// A run of the loop began.
        public static let entry = Kind(rawValue: "entry")
        /// A run of the loop ended.
        public static let exit = Kind(rawValue: "exit")
        /// The loop slept.
        public static let sleep = Kind(rawValue: "sleep")
        /// A fault before this one was resumed.
        public static let fault = Kind(rawValue: "fault")
        /// A signal was delivered to a handler.
        public static let signal = Kind(rawValue: "signal")
    }
}
