package import CrashCapture
internal import Glibc
public import SystemPackage

/// The kept descriptors: those that the process before this one handed over, and those that this one keeps.
///
/// A descriptor that was handed over belongs to the host until the program asks for it.
@MainActor
final class KeptDescriptors {
    /// The variable that names the table for the next process.
    nonisolated static let variable = "HOLDFAST_KEPT_TABLE"

    /// What was handed over.
    let inherited: KeptTable.Contents
    /// Whether the hand-over failed.
    let isDamaged: Bool
    /// Made when something is kept.
    private var table: KeptTable?
    /// Handed over, and not asked for yet.
    private var unclaimed: [String: CInt] = [:]
    /// What the program finds: descriptors that were handed over, and those that it kept itself.
    private var entries: [String: KeptEntry] = [:]
    /// How many names the program has given.
    private var nameCount = 0
    /// Under how many names each descriptor is kept.
    private var uses: [CInt: Int] = [:]

    /// Takes over the table that the environment names.
    ///
    /// - Parameters:
    ///   - environment: The environment.
    ///   - isRestarted: Whether a restart of this very process made it.
    init(environment: [String: String], isRestarted: Bool) {
        let text = environment[Self.variable]
        guard isRestarted, let text else {
            inherited = .none
            isDamaged = false
            return
        }
        let contents = CInt(text).flatMap { KeptTable.takeOver($0) }
        inherited = contents ?? .none
        isDamaged = contents == nil
        unclaimed = inherited.entries.mapValues(\.descriptor)
        // Still kept: this process may be restarted before the program has asked for it.
        for (name, entry) in inherited.entries {
            try? keep(entry, as: name)
        }
    }

    /// The table's number for a restart; nil while nothing was ever kept.
    var tableDescriptor: CInt? { table?.descriptor }

    /// Whether the program keeps nothing.
    var isEmpty: Bool { nameCount == 0 }

    /// The names that the program has given.
    var names: [String] { entries.keys.filter { !$0.hasPrefix(Self.reserved) }.sorted() }

    /// What the program keeps and has not closed, in the order of the names.
    var openEntries: [(name: String, entry: KeptEntry)] {
        names.compactMap { name in
            guard let entry = entries[name], table?.isOpen(name) == true else { return nil }
            return (name, entry)
        }
    }

    /// What is kept under names that begin in a way, and is not closed.
    func openDescriptors(under prefix: String) -> [CInt] {
        entries.filter { $0.key.hasPrefix(prefix) && table?.isOpen($0.key) == true }.map(\.value.descriptor)
    }

    /// What the names begin with under which the host keeps what it needs itself: a NUL, which no program needs.
    static let reserved = "\0"
    /// What the names begin with of sockets that a supervisor has handed down.
    private static let handedDown = reserved + "LISTEN_FDS "

    /// What the names begin with of links by which something may still come (`SuccessorLink`): a process that stands by gets them, too.
    private static let link = HandedTable.ownNames + "LINK "

    /// The links of the process before this one, which are the caller's from now on.
    ///
    /// A program may have closed them meanwhile, and have something else under their numbers.
    func takeLinks() -> [CInt] {
        let names = inherited.entries.keys.filter { unclaimed[$0] != nil && Self.isLink($0) }.sorted()
        return names.compactMap { name in
            if table?.isOpen(name) == true { return claim(name) }
            unclaimed[name] = nil
            try? remove(name)
            return nil
        }
    }

    static func isLink(_ name: String) -> Bool { name.hasPrefix(link) }

    func keepLink(_ end: CInt) {
        let name = Self.link + "\(end)"
        if table?.isOpen(name) != true { try? keep(KeptEntry(descriptor: end, state: []), as: name) }
    }

    func giveUpLink(_ end: CInt) { try? remove(Self.link + "\(end)") }

    /// Keeps a socket that a supervisor has handed down, under its number, which the environment names.
    func keepHandedDown(_ descriptor: CInt) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let name = Self.handedDown + "\(descriptor)"
        guard entries[name] == nil else { return }
        // Without room for the table nothing can be kept, which keepAcrossRestart(_:as:state:) tells.
        try? keep(KeptEntry(descriptor: descriptor, state: []), as: name)
    }

    func state(named name: String) -> [UInt8]? { entries[name]?.state }

    /// Whether a descriptor is kept under any name.
    func keeps(_ descriptor: CInt) -> Bool { uses[descriptor] != nil }

    /// The descriptor that was handed over under a name; from now on the program's.
    func claim(_ name: String) -> CInt? {
        unclaimed[name] = nil
        return inherited.entries[name]?.descriptor
    }

    func keep(_ entry: KeptEntry, as name: String) throws(Errno) {
        let table = try openTable()
        try table.keep(entry, as: name)
        note(entry, as: name)
        closeUnclaimed(name, unless: entry.descriptor)
    }

    private func note(_ entry: KeptEntry?, as name: String) {
        if !name.hasPrefix(Self.reserved) {
            nameCount += (entry == nil ? 0 : 1) - (entries[name] == nil ? 0 : 1)
        }
        if let before = entries[name]?.descriptor, let count = uses[before] {
            uses[before] = count > 1 ? count - 1 : nil
        }
        entries[name] = entry
        if let descriptor = entry?.descriptor { uses[descriptor, default: 0] += 1 }
    }

    private func openTable() throws(Errno) -> KeptTable {
        if let table { return table }
        let new = try KeptTable()
        table = new
        return new
    }

    func setState(_ state: [UInt8], of name: String) throws(Errno) -> Bool {
        guard try table?.setState(state, of: name) == true else { return false }
        entries[name]?.state = state
        return true
    }

    func remove(_ name: String) throws(Errno) {
        try table?.remove(name)
        note(nil, as: name)
        closeUnclaimed(name, unless: nil)
    }

    /// Closes a descriptor that the program never asked for and does not keep any more.
    private func closeUnclaimed(_ name: String, unless kept: CInt?) {
        guard let descriptor = unclaimed[name], descriptor != kept else { return }
        unclaimed[name] = nil
        // Another name may have it, too.
        if descriptor > STDERR_FILENO, !keeps(descriptor) { close(descriptor) }
    }
}

/// Descriptors that stay open across restarts in place, each with bytes of the program's.
extension EventHost {
    /// Keeps a descriptor open across restarts in place, under a name, and hands bytes along: a listening socket, so that its
    /// backlog is served by the next process; a connection with the half request that was read from it.
    ///
    /// It stays kept, also by the processes that follow, until it is given up under its name. Give it up before you close it:
    /// what is closed all the same is not handed over, and the log of the next process says so. A restart may come at any instruction,
    /// by a fault. Then the next process finds what was kept before a call or what was kept after it, never a mixture. A call
    /// costs about a microsecond, and the copying of the bytes; one that comes while another thread restarts the process does
    /// not return, unless the restart fails.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor, or nil to keep none under this name any more; it stays open then, unless it was handed
    ///     over and never asked for.
    ///   - name: Any text of up to 4,096 bytes; there are 65,536 names.
    ///   - state: Up to 16 MiB.
    /// - Throws: `EventHostError`.
    public func keepAcrossRestart(
        _ descriptor: FileDescriptor?,
        as name: String,
        state: [UInt8] = []
    ) throws(EventHostError) {
        let table = kept.tableDescriptor
        do throws(Errno) {
            if let descriptor {
                try kept.keep(KeptEntry(descriptor: descriptor.rawValue, state: state), as: name)
            } else {
                try kept.remove(name)
            }
        } catch {
            throw EventHostError(keeping: name, error)
        }
        offerStandby()
        leaveIfSucceeded()
        if kept.tableDescriptor != table { prepareRestart(isHealthy: isHealthy) }
    }

    /// Changes the bytes that go with a kept descriptor, as a whole: see `keepAcrossRestart(_:as:state:)`.
    ///
    /// - Throws: `EventHostError`.
    package func setKeptState(_ state: [UInt8], named name: String) throws(EventHostError) {
        let isKnown: Bool
        do throws(Errno) {
            isKnown = try kept.setState(state, of: name)
        } catch {
            throw EventHostError(keeping: name, error)
        }
        guard isKnown else { throw EventHostError(unknownName: name) }
    }

    /// The descriptor that the process before this one kept under a name, closed on exec by a child; the caller owns it.
    public func keptDescriptor(named name: String) -> FileDescriptor? {
        kept.claim(name).map(FileDescriptor.init(rawValue:))
    }

    /// The bytes that are kept under a name.
    public func keptState(named name: String) -> [UInt8]? {
        kept.state(named: name)
    }

    /// The names under which something is kept, in their order.
    public var keptNames: [String] { kept.names }

    /// What the process before this one kept and then closed: its bytes are there, its descriptor is not.
    package var lostDescriptors: [LostDescriptor] {
        kept.inherited.lost.filter { !$0.name.hasPrefix(KeptDescriptors.reserved) }
    }
}
