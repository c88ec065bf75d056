extension CrashReport {
    /// The process that faulted.
    public struct Process: Codable, Sendable, Hashable {
        package typealias Phase = CrashReport.Word

        /// The name of the process, as in `/proc/PID/comm`.
        public var name: String
        /// The process identifier.
        public var pid: Int
        /// The process identifier of the parent.
        public var parentPid: Int
        /// The path of the executable.
        public var executable: String
        /// The arguments, with the name it was called by first.
        public var arguments: [String]
        /// The build identifier of the executable as hexadecimal digits, if it has one.
        public var buildID: String?
        /// When the process started.
        public var startTime: Timestamp
        /// How long it had been running, in seconds.
        public var uptimeSeconds: Double
        /// How often it had restarted itself before.
        public var restarts: Int
        /// Whether it was forked and had not become another program; then name, arguments and start are its parent's.
        ///
        /// Nil says that it was not.
        public var isForkedChild: Bool?
        /// How far it had come; nil if that is not known.
        public var phase: CrashReport.Word?
    }

    /// The machine it ran on.
    public struct Host: Codable, Sendable, Hashable {
        /// The name of the host.
        public var name: String
        /// The release of the kernel, such as `6.1.0-18-amd64`.
        public var kernel: String
        /// The distribution and its version, such as `Debian GNU/Linux 12 (bookworm)`.
        public var os: String
        /// The architecture, such as `x86_64`.
        public var architecture: String
        /// The number of processors that were online.
        public var processors: Int
    }

    /// Versions of what the process was built with and ran on.
    public struct Runtime: Codable, Sendable, Hashable {
        /// The version of Holdfast.
        public var holdfast: String
        /// The version of Swift, if known.
        public var swift: String?
        /// The C library and its version, such as `glibc 2.36`, if known.
        public var libc: String?
    }
}
