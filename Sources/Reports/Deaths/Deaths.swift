internal import LinuxSystem

/// The records of deaths in a spool, of which there are no reports yet.
///
/// Two who finish a spool at the same time make the same report of the same death: its id follows from the record.
struct Deaths {
    /// Those that belong to no fault, the oldest first.
    private(set) var left: [(name: String, record: DeathRecord)] = []
    /// The names of files that are no records.
    private(set) var damaged: [String] = []

    /// How many are read in one go; the rest is for the next one.
    private static let most = 2048

    /// Reads records.
    ///
    /// - Parameters:
    ///   - names: The names of their files.
    ///   - folder: The folder of the spool.
    init(names: [String], in folder: borrowing FileDirectory) {
        for name in names.prefix(Self.most) {
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
    /// - Parameter process: The process.
    /// - Returns: Its record, and the name of the file.
    mutating func take(of process: SpoolProcess) -> (name: String, record: DeathRecord)? {
        // Numbers of processes come again, but not while one lives. A restart in place begins anew later in its life.
        let index = left.firstIndex { _, record in
            record.pid == process.pid && record.startTime.adding(seconds: -1) <= process.startTime
                && process.startTime <= record.time
        }
        guard let index else { return nil }
        return left.remove(at: index)
    }
}
