public import SystemPackage

/// Something that is not as it should be in a store.
public struct StoreFinding: Sendable, Hashable {
    /// What kind of thing it is.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A folder or a file cannot be looked at.
        case unreadable
        /// A report that cannot be read.
        case damagedReport = "damaged-report"
        /// A report of a version that this program does not read.
        case unsupportedVersion = "unsupported-version"
        /// A file that is named like a report and has another's identifier, or is named like none.
        case wrongName = "wrong-name"
        /// A file or folder of another user.
        case wrongOwner = "wrong-owner"
        /// A file or folder that others than its owner can use.
        case wrongMode = "wrong-mode"
        /// A symbolic link in the place of a file or a folder.
        case symbolicLink = "symbolic-link"
        /// A folder, a FIFO or the like in the place of a report.
        case wrongKind = "wrong-kind"
        /// A file that nobody made this package write.
        case strangeFile = "strange-file"
        /// A file that a writer left that died.
        case leftover
        /// The index cannot be read; lists are slow until it is made anew.
        case damagedIndex = "damaged-index"
        /// The index does not know some reports, or knows them as they were.
        case staleIndex = "stale-index"
        /// Records of faults that no report tells of yet.
        case unfinishedRecords = "unfinished-records"
        /// Records that could not be read, and were set aside.
        case damagedRecords = "damaged-records"
        /// The store holds more than it may.
        case overLimits = "over-limits"
    }

    /// What was done about it.
    public enum Repair: String, Sendable, Hashable {
        /// Nothing: it was not asked for, or could lose something.
        case none
        /// It is as it should be now.
        case done
        /// It was tried, and the system refused.
        case failed
    }

    /// What kind of thing it is.
    public var kind: Kind
    /// The file or folder.
    public var path: FilePath
    /// What is wrong, in one line.
    public var problem: String
    /// What to do about it, in one line.
    public var advice: String
    /// Whether `repair` does something about it.
    public var isRepairable: Bool
    /// What was done about it.
    public var repair: Repair = .none

    /// Whether something is lost or may be: false for what costs only time or room.
    public var isSerious: Bool {
        switch kind {
        case .leftover, .damagedIndex, .staleIndex, .unfinishedRecords, .overLimits, .strangeFile: false
        default: true
        }
    }
}

/// What the check of a store found.
public struct StoreVerification: Sendable, Hashable {
    /// What is not as it should be.
    public var findings: [StoreFinding] = []
    /// How many reports can be read.
    public var reports = 0
    /// How many bytes they have together.
    public var bytes = 0

    /// Whether everything is as it should be, or is now.
    public var isSound: Bool { findings.allSatisfy { $0.repair == .done } }
}
