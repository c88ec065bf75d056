/// What a process and its machine had at the time of a fault; nil where it could not be asked.
public struct SystemState: Sendable, Hashable {
    /// The memory of the process and of the machine.
    public var memory: CrashReport.Context.Memory?
    /// The load averages of 1, 5 and 15 minutes.
    public var load: [Double]?
    /// How many descriptors were open.
    public var openDescriptors: Int?
    /// How many threads there were.
    public var threadCount: Int?
    /// The limits, by their names in `/proc/PID/limits`.
    public var limits: [String: CrashReport.Context.Limit]

    /// In the order of their numbers (asm-generic/resource.h); the names are those of fs/proc/base.c, lnames.
    static let limitNames = [
        "Max cpu time", "Max file size", "Max data size", "Max stack size", "Max core file size", "Max resident set",
        "Max processes", "Max open files", "Max locked memory", "Max address space", "Max file locks",
        "Max pending signals", "Max msgqueue size", "Max nice priority", "Max realtime priority",
        "Max realtime timeout",
    ]

    /// The limit of open descriptors.
    public var descriptorLimit: Int? { limits[Self.limitNames[7]]?.soft }

    /// Nil where nothing could be asked.
    init?(_ bytes: RecordBytes) {
        let known = bytes.integer(0, as: UInt32.self)
        guard known != 0 else { return nil }
        func has(_ bit: Int) -> Bool { known & 1 << bit != 0 }
        func size(_ offset: Int) -> Int { Int(clamping: bytes.integer(offset, as: UInt64.self)) }
        func number(_ offset: Int) -> Int { Int(bytes.integer(offset, as: UInt32.self)) }
        memory =
            has(0)
            ? CrashReport.Context.Memory(
                resident: size(24),
                peakResident: has(1) ? size(32) : nil,
                virtual: size(40),
                systemTotal: has(3) ? size(48) : nil,
                systemAvailable: has(3) ? size(56) : nil
            ) : nil
        threadCount = has(2) ? number(4) : nil
        load = has(4) ? [12, 16, 20].map { Double(number($0)) / 100 } : nil
        openDescriptors = has(5) ? number(8) : nil
        limits = [:]
        guard has(6) else { return }
        for (index, name) in Self.limitNames.enumerated() {
            func limit(_ offset: Int) -> Int? {
                let value = bytes.integer(64 + 16 * index + offset, as: UInt64.self)
                return value == .max ? nil : Int(clamping: value)
            }
            limits[name] = CrashReport.Context.Limit(soft: limit(0), hard: limit(8))
        }
    }
}
