/// The process that a spool file belongs to.
public struct SpoolProcess: Sendable, Hashable {
    /// Its pid.
    public var pid: Int
    /// Its parent's pid.
    public var parentPid: Int
    /// How often it had been restarted in place.
    public var restarts: Int
    /// When it started.
    public var startTime: Timestamp
    /// The path of the executable.
    public var executable: String
    /// The last component of that.
    public var name: String
    /// The command line; those that did not fit are left out.
    public var arguments: [String]
    /// The machine.
    public var host: CrashReport.Host
    /// What it ran on.
    public var runtime: CrashReport.Runtime
    /// Faults for which there was no slot, so that they have no report.
    public var faultsLost: Int
    /// When it started, on the clock that no administrator sets, in nanoseconds.
    public var startMonotonicNanoseconds: Int64
    /// What was around it.
    public var surroundings: ProcessSurroundings

    init(_ bytes: RecordBytes) {
        pid = Int(bytes.integer(52, as: Int32.self))
        parentPid = Int(bytes.integer(56, as: Int32.self))
        restarts = Int(bytes.integer(60, as: UInt32.self))
        startTime = Timestamp(microsecondsSinceEpoch: bytes.integer(64, as: Int64.self) / 1000)
        executable = bytes.text(160, 512)
        name = bytes.text(96, 64)
        let length = Int(bytes.integer(84, as: UInt32.self))
        arguments = bytes.texts(1144, min(length, 2048))
        host = CrashReport.Host(
            name: bytes.text(672, 72),
            kernel: bytes.text(744, 160),
            os: bytes.text(904, 96),
            architecture: bytes.text(1000, 16),
            processors: Int(bytes.integer(80, as: UInt32.self))
        )
        let swift = bytes.text(1048, 64)
        let libc = bytes.text(1016, 32)
        runtime = CrashReport.Runtime(
            holdfast: bytes.text(1112, 32),
            swift: swift.isEmpty ? nil : swift,
            libc: libc.isEmpty ? nil : libc
        )
        faultsLost = Int(bytes.integer(48, as: UInt32.self))
        startMonotonicNanoseconds = bytes.integer(72, as: Int64.self)
        surroundings = ProcessSurroundings(ContextSection(bytes))
    }
}
