extension CrashReport {
    /// The process that faulted.
    public struct Process: Codable, Sendable, Hashable {
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
        public var phase: Phase?

        /// Makes the description of a process.
        ///
        /// - Parameters:
        ///   - name: The name of the process, as in `/proc/PID/comm`.
        ///   - pid: The process identifier.
        ///   - parentPid: The process identifier of the parent.
        ///   - executable: The path of the executable.
        ///   - arguments: The arguments, with the name it was called by first.
        ///   - buildID: The build identifier of the executable as hexadecimal digits, if it has one.
        ///   - startTime: When the process started.
        ///   - uptimeSeconds: How long it had been running, in seconds.
        ///   - restarts: How often it had restarted itself before.
        ///   - isForkedChild: Whether it was forked and had not become another program.
        ///   - phase: How far it had come.
        package init(
            name: String,
            pid: Int,
            parentPid: Int,
            executable: String,
            arguments: [String],
            buildID: String? = nil,
            startTime: Timestamp,
            uptimeSeconds: Double,
            restarts: Int,
            isForkedChild: Bool? = nil,
            phase: Phase? = nil
        ) {
            self.name = name
            self.pid = pid
            self.parentPid = parentPid
            self.executable = executable
            self.arguments = arguments
            self.buildID = buildID
            self.startTime = startTime
            self.uptimeSeconds = uptimeSeconds
            self.restarts = restarts
            self.isForkedChild = isForkedChild
            self.phase = phase
        }
    }
}

extension CrashReport.Process {
    /// How far a process has come.
    ///
    /// A value that this version does not know is kept as it is.
    public struct Phase: RawRepresentable, Codable, Sendable, Hashable {
        /// The value in JSON.
        public let rawValue: String

        /// Takes a value.
        ///
        /// - Parameter rawValue: The value in JSON.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Its host did not run yet.
        public static let starting = Phase(rawValue: "starting")
        /// Its host ran, and nothing was served yet.
        public static let running = Phase(rawValue: "running")
        /// Something was served.
        public static let serving = Phase(rawValue: "serving")
    }
}

extension CrashReport {
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

        /// Makes the description of a machine.
        ///
        /// - Parameters:
        ///   - name: The name of the host.
        ///   - kernel: The release of the kernel, such as `6.1.0-18-amd64`.
        ///   - os: The distribution and its version, such as `Debian GNU/Linux 12 (bookworm)`.
        ///   - architecture: The architecture, such as `x86_64`.
        ///   - processors: The number of processors that were online.
        package init(name: String, kernel: String, os: String, architecture: String, processors: Int) {
            self.name = name
            self.kernel = kernel
            self.os = os
            self.architecture = architecture
            self.processors = processors
        }
    }
}

extension CrashReport {
    /// Versions of what the process was built with and ran on.
    public struct Runtime: Codable, Sendable, Hashable {
        /// The version of Holdfast.
        public var holdfast: String
        /// The version of Swift, if known.
        public var swift: String?
        /// The C library and its version, such as `glibc 2.36`, if known.
        public var libc: String?

        /// Makes a list of versions.
        ///
        /// - Parameters:
        ///   - holdfast: The version of Holdfast.
        ///   - swift: The version of Swift, if known.
        ///   - libc: The C library and its version, such as `glibc 2.36`, if known.
        package init(holdfast: String, swift: String? = nil, libc: String? = nil) {
            self.holdfast = holdfast
            self.swift = swift
            self.libc = libc
        }
    }
}
