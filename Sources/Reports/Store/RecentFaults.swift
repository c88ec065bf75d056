internal import FoundationEssentials
internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// A fault of the recent past, as far as it takes to see that a program crashes again and again.
package struct RecentFault: Sendable, Hashable {
    /// Which fault of its process it was, from 1.
    package var number: Int
    /// When it happened.
    package var time: Timestamp
    /// The process.
    package var pid: Int
    /// What was decided; nil if the process ended before.
    package var verdict: CrashReport.Verdict.Decision?
    /// The signal's number.
    package var signal: Int
    /// What kind of loop item was called, nil outside of a callout.
    package var kind: CrashReport.LoopState.Callout.Kind?
    /// The label of that item, nil outside of a callout.
    package var label: String?
    /// Whether the item was taken out of its loop.
    package var isQuarantined: Bool
    /// Whether it was a forked child's: the program itself went on.
    package var isForkedChild: Bool
    /// When the process started.
    package var processStart: Timestamp
    /// How often, if reports of the same fault were counted in one.
    package var count: Int
    /// Which instance of the program it was.
    package var instance: ProgramInstance
    /// How far the process had come; nil where that is not known.
    package var phase: CrashReport.Process.Phase?
    /// Whether the item was in its loop when the host began to run, with a label of its own.
    package var isFromStart: Bool
}

/// The recent faults of one program, for a process of it that starts.
package enum RecentFaults {
    /// Files that are read at most, of each kind.
    private static let mostFiles = 256

    /// Finds them: in the reports of a store, and in the records that have no report yet.
    ///
    /// Reads names, and only files whose names are of that time. A fault that was counted in an older report is not found, and
    /// neither is what is damaged: nobody who starts wants to fail because of it. Blocks on files.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - processName: The name of the process.
    ///   - executable: The path of its executable.
    ///   - seconds: How far back to look.
    ///   - limit: How many faults at most.
    ///   - now: The end of that time; what is later is left out.
    /// - Returns: The newest first.
    package static func find(
        in store: ReportStore,
        processName: String,
        executable: String,
        withinSeconds seconds: Double,
        limit: Int = 64,
        now: Timestamp = .now
    ) -> [RecentFault] {
        let start = now.adding(seconds: -seconds)
        guard limit > 0, start <= now else { return [] }
        return faults(Search(name: processName, executable: executable, times: start...now, limit: limit), in: store)
    }

    /// Finds those of the process before a restart in place, and may find older ones.
    ///
    /// Opens what that process left, and nothing older, for clients wait meanwhile: five reports of others took 5 ms of such a restart's
    /// 18. Blocks on files.
    ///
    /// - Parameters:
    ///   - pid: Its pid.
    ///   - store: The store.
    ///   - processName: The name of the process.
    ///   - executable: The path of its executable.
    ///   - seconds: How far back to look, if its spool file is gone.
    ///   - now: The present; what is later is left out.
    /// - Returns: The newest first.
    package static func ofPredecessor(
        pid: Int,
        in store: ReportStore,
        processName: String,
        executable: String,
        withinSeconds seconds: Double,
        now: Timestamp = .now
    ) -> [RecentFault] {
        let earliest = now.adding(seconds: -seconds)
        guard earliest <= now else { return [] }
        return faults(
            Search(name: processName, executable: executable, times: earliest...now, limit: 64, pid: pid),
            in: store
        )
    }

    private static func faults(_ search: Search, in store: ReportStore) -> [RecentFault] {
        var search = search
        var records: [RecentFault] = []
        // Before the reports: a record that becomes one meanwhile is found twice, and not missed.
        if let folder = search.spoolFolder(of: store) {
            let names = search.spoolNames(in: folder)
            if search.pid != nil, let last = names.first { search.begin(at: last) }
            records = search.records(in: folder, names)
        }
        var found: [Key: RecentFault] = [:]
        for fault in search.reports(in: store) { found[Key(fault)] = fault }
        // A record may have a report already, if the process ended before it was free.
        for fault in records where found[Key(fault)] == nil { found[Key(fault)] = fault }
        return Array(found.values.sorted { $0.time > $1.time }.prefix(search.limit))
    }

    private struct Key: Hashable {
        var pid: Int
        var number: Int
        var time: Timestamp

        init(_ fault: RecentFault) {
            pid = fault.pid
            number = fault.number
            time = fault.time
        }
    }

    private struct Search {
        var name: String
        var executable: String
        var times: ClosedRange<Timestamp>
        var limit: Int
        /// Whose spool file is read; nil for those of all processes.
        var pid: Int?

        func reports(in store: ReportStore) -> [RecentFault] {
            guard let directory = try? store.openReports(), let listing = try? FolderListing(directory) else {
                return []
            }
            // Identifiers begin with the time: the others are not opened.
            let first = PackedID(time: times.lowerBound)
            let recent = listing.files.reversed().drop { $0.id.time > times.upperBound }.prefix { $0.id >= first }
            var found: [RecentFault] = []
            for file in recent.prefix(mostFiles) where found.count < limit {
                guard let bytes = try? store.contents(of: file.id.reportID, in: directory).bytes,
                    let outline = try? JSONDecoder().decode(Outline.self, from: Data(bytes)),
                    outline.id == file.id.reportID, isWanted(outline),
                    let fault = RecentFault(outline)
                else { continue }
                found.append(fault)
            }
            return found
        }

        /// The folder of spool files; nil if there is none, or it is another user's.
        func spoolFolder(of store: ReportStore) -> FileDirectory? {
            guard let directory = try? FileDirectory(at: store.spoolPath), isOwn(directory.descriptor) else {
                return nil
            }
            return directory
        }

        /// The spool files in it.
        ///
        /// Those that began last come first: they are the likeliest to have what nobody has seen.
        func spoolNames(in directory: borrowing FileDirectory) -> [SpoolName] {
            let names = ((try? directory.names()) ?? []).compactMap(SpoolName.init)
            return names.filter { pid == nil || $0.pid == pid }.sorted { $0.start > $1.start }
        }

        /// Looks at nothing from before a process began, if that was in the time that is looked at.
        mutating func begin(at spool: SpoolName) {
            let start = Timestamp(microsecondsSinceEpoch: Int64(spool.start / 1000))
            if times.contains(start) { times = start...times.upperBound }
        }

        func records(in directory: borrowing FileDirectory, _ files: [SpoolName]) -> [RecentFault] {
            var found: [RecentFault] = []
            for name in files.prefix(pid == nil ? mostFiles : 1) where found.count < limit {
                guard let file = try? directory.open(name.text), isOwn(file),
                    let bytes = SpoolDigest.bytes({ file.bytes(at: $0, count: $1) }),
                    let contents = try? SpoolContents(bytes: bytes), contents.process.name == self.name,
                    contents.process.executable == executable
                else { continue }
                for record in contents.records where times.contains(record.time) {
                    found.append(RecentFault(record, of: contents.process))
                }
            }
            return found
        }

        private func isWanted(_ outline: Outline) -> Bool {
            (1...CrashReport.schemaVersion).contains(outline.schemaVersion) && outline.process.name == name
                && outline.process.executable == executable && times.contains(outline.timestamp)
        }

        /// A regular file or a folder of this user, whatever lies under its name.
        private func isOwn(_ descriptor: borrowing OwnedDescriptor) -> Bool {
            guard let status = try? FileStatus(of: descriptor) else { return false }
            return status.owner == geteuid() && (status.kind == .regular || status.kind == .directory)
        }
    }
}

/// What matters of a report here.
///
/// Who starts again reads the reports of the last minutes while connections wait: a whole report takes five times as long, for threads
/// and images (measured: 10 ms of a restart after ten faults).
private struct Outline: Decodable {
    struct Fault: Decodable {
        struct Signal: Decodable { var number: Int }

        var number: Int
        var signal: Signal
    }

    struct Loop: Decodable {
        struct Callout: Decodable {
            var kind: CrashReport.LoopState.Callout.Kind
            var label: String
            var isFromStart: Bool?
        }

        var callout: Callout?
    }

    struct Host: Decodable { var name: String }
    struct Verdict: Decodable { var decision: CrashReport.Verdict.Decision }
    struct Recovery: Decodable { var quarantined: Bool }
    struct Context: Decodable { var container: CrashReport.Context.Container? }

    var schemaVersion: Int
    /// Another one's than the file's: somebody has renamed it.
    var id: ReportID
    var timestamp: Timestamp
    var occurrences: CrashReport.Occurrences
    var process: CrashReport.Process
    var host: Host
    /// A stall has none, and ends no process.
    var fault: Fault?
    var loop: Loop?
    var verdict: Verdict
    var recovery: Recovery?
    var context: Context?
}

extension RecentFault {
    /// Takes a report; nil of one that is of no fault.
    fileprivate init?(_ report: Outline) {
        guard let fault = report.fault else { return nil }
        self.init(
            number: fault.number,
            time: report.timestamp,
            pid: report.process.pid,
            verdict: report.verdict.decision,
            signal: fault.signal.number,
            kind: report.loop?.callout?.kind,
            label: report.loop?.callout?.label,
            isQuarantined: report.recovery?.quarantined ?? false,
            isForkedChild: report.process.isForkedChild ?? false,
            processStart: report.process.startTime,
            count: report.occurrences.count,
            instance: ProgramInstance(
                executable: report.process.executable,
                arguments: report.process.arguments,
                host: report.host.name,
                controlGroup: report.context?.container?.controlGroup
            ),
            phase: report.process.phase,
            isFromStart: report.loop?.callout?.isFromStart ?? false
        )
    }

    fileprivate init(_ record: FaultRecord, of process: SpoolProcess) {
        self.init(
            number: record.number,
            time: record.time,
            pid: record.facts.contains(.forkedChild) ? record.pid ?? process.pid : process.pid,
            verdict: record.verdict,
            signal: record.signal,
            kind: record.loop?.callout?.kind,
            label: record.loop?.callout?.label,
            isQuarantined: record.facts.contains(.quarantined),
            isForkedChild: record.facts.contains(.forkedChild),
            processStart: process.startTime,
            count: 1 + record.repeats,
            instance: ProgramInstance(
                executable: process.executable,
                arguments: process.arguments,
                host: process.host.name,
                controlGroup: process.surroundings.container?.controlGroup
            ),
            phase: record.phase,
            isFromStart: record.facts.contains(.startItem)
        )
    }
}
/// One of several processes of a program that run side by side, as far as what they leave behind can tell them apart.
package struct ProgramInstance: Sendable, Hashable {
    /// The path of the executable.
    package var executable: String
    /// The arguments, as far as they may be told.
    package var arguments: [String]
    /// The name of the machine, which a container has of its own.
    package var host: String
    /// The systemd service that it is; nil if it is none, or that is not known.
    package var service: String?

    /// Describes an instance.
    ///
    /// - Parameters:
    ///   - executable: The path of the executable.
    ///   - arguments: The arguments, as far as they may be told.
    ///   - host: The name of the machine.
    ///   - controlGroup: The control group; nil if it is not known.
    package init(executable: String, arguments: [String], host: String, controlGroup: String?) {
        self.executable = executable
        self.arguments = arguments
        self.host = host
        // Other groups change from one start to the next: sessions, scopes, containers.
        service = controlGroup?.split(separator: "/").last { $0.hasSuffix(".service") }.map(String.init)
    }

    /// Whether two processes may be one instance before and after a restart: what is known of both does not differ.
    package func mayBe(_ other: ProgramInstance) -> Bool {
        guard executable == other.executable, arguments == other.arguments, host == other.host else { return false }
        guard let service, let theirs = other.service else { return true }
        return service == theirs
    }
}
