extension CrashReport.Stall {
    /// What a thread does that does not go on.
    ///
    /// A value that this version does not know is kept as it is.
    public struct Activity: RawRepresentable, Codable, Sendable, Hashable {
        /// The value in JSON.
        public let rawValue: String

        /// Takes a value.
        ///
        /// - Parameter rawValue: The value in JSON.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// It ran on a processor.
        public static let running = Activity(rawValue: "running")
        /// It was ready to run, and no processor was free for it.
        public static let ready = Activity(rawValue: "ready, not scheduled")
        /// It waited for a lock that another thread held.
        public static let lock = Activity(rawValue: "waiting for a lock")
        /// It waited in a system call.
        public static let systemCall = Activity(rawValue: "in a system call")
        /// It waited for a device, and could not be interrupted.
        public static let disk = Activity(rawValue: "waiting for disk")
        /// It was stopped by a signal or a debugger, while the rest of the process was not.
        public static let stopped = Activity(rawValue: "stopped")
        /// That is not known.
        public static let unknown = Activity(rawValue: "unknown")
    }

    /// How long a thread did something.
    public struct ActivityTime: Codable, Sendable, Hashable {
        /// What it did.
        public var activity: Activity
        /// The system call it was in, such as `read`, if it was in one.
        public var systemCall: String?
        /// How long, in seconds: each sample stands for the time since the one before it.
        public var seconds: Double
        /// How many samples saw it.
        public var samples: Int

        /// Makes an entry.
        ///
        /// - Parameters:
        ///   - activity: What it did.
        ///   - systemCall: The system call it was in.
        ///   - seconds: How long, in seconds.
        ///   - samples: How many samples saw it.
        public init(activity: Activity, systemCall: String? = nil, seconds: Double, samples: Int) {
            self.activity = activity
            self.systemCall = systemCall
            self.seconds = seconds
            self.samples = samples
        }

        /// What it did, in words: `in read`, `waiting for a lock`.
        public var text: String {
            guard activity == .systemCall, let systemCall else { return activity.rawValue }
            return "in \(systemCall)"
        }
    }
}
