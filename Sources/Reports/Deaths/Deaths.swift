internal import LinuxSystem

/// The records of deaths in a spool, of which there are no reports yet.
///
/// Two who finish a spool at the same time make the same report of the same death: its id follows from the record.
struct Deaths {
    /// Those that belong to no fault, the oldest first.
    private(set) var left: [(name: String, record: DeathRecord)] = []
    /// The names of files that are no records.
    private(set) var damaged: [String] = []

    /// The spool files of processes.
    private let spools: [SpoolName]

    /// How many are read in one go; the rest is for the next one.
    private static let most = 2048

    /// Reads records.
    ///
    /// - Parameters:
    ///   - names: The names of all files of the spool.
    ///   - folder: The folder of the spool.
    init(names: [String], in folder: borrowing FileDirectory) {
        spools = names.compactMap(SpoolName.init)
        for name in names.filter({ $0.hasSuffix(".death") }).prefix(Self.most) {
            // Removed since, by somebody else who has finished it, or not ours to read.
            guard let file = try? folder.open(name), let bytes = try? file.readAll(limit: DeathRecord.maximumSize)
            else {
                continue
            }
            if let record = try? DeathRecord(json: bytes) { left.append((name, record)) } else { damaged.append(name) }
        }
        left.sort { ($0.record.ended, $0.name) < ($1.record.ended, $1.name) }
    }

    /// Takes the death of a process, if there is one.
    ///
    /// - Parameters:
    ///   - process: The process.
    ///   - hasRestarted: Whether its fault was to restart it in place: then it may have lived on, and have another spool file.
    /// - Returns: Its record, and the name of the file.
    mutating func take(of process: SpoolProcess, hasRestarted: Bool) -> (name: String, record: DeathRecord)? {
        if hasRestarted, hasSuccessor(process.pid, process.startTime) { return nil }
        guard let index = index(of: process) else { return nil }
        return left.remove(at: index)
    }

    /// Whether the end of a process has a record that belongs to no fault.
    func hasEnd(of process: SpoolProcess) -> Bool { index(of: process) != nil }

    private func index(of process: SpoolProcess) -> Int? {
        // Numbers of processes come again, but not while one lives. A restart in place begins anew later in its life.
        left.firstIndex { _, record in
            record.pid == process.pid && record.startTime.adding(seconds: -1) <= process.startTime
                && process.startTime <= record.time
        }
    }

    /// Whether a process has begun anew since, as after a restart in place.
    func hasSuccessor(_ pid: Int, _ start: Timestamp) -> Bool {
        spools.contains { $0.pid == pid && Int64(clamping: $0.start / 1000) > start.microsecondsSinceEpoch }
    }
}
