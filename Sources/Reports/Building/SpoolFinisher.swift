internal import Glibc
internal import LinuxSystem
internal import Symbolication
internal import SystemPackage

/// Makes reports of the records that dead processes left in the spool.
///
/// A spool file is locked as long as its process runs, so several processes and several `crashreport`s do this side by side: each
/// file is finished by whoever gets its lock.
package struct SpoolFinisher: Sendable {
    /// What was done.
    package struct Outcome: Sendable {
        /// The reports that were written.
        package var reports: [ReportID] = []
        /// The processes that ended and did not say why.
        package var silentEnds: [SilentEnd] = []
        /// What went wrong, in words, a line each; the files stay where they are.
        package var problems: [String] = []
        /// Whether a report could not be written for now, as on a full disk; said among the problems.
        package var isIncomplete = false
    }

    /// A process that ended without a word: it left no record of a fault that ended it, and it did not close its host.
    package struct SilentEnd: Sendable, Hashable {
        /// The process.
        package var process: SpoolProcess
        /// When one of its loops did something last, or else when it started: it ended later.
        package var lastActivity: Timestamp
        /// Whether it called `exit`.
        package var hasExited: Bool

        /// What happened, in one line.
        package var text: String {
            let end = hasExited ? "called exit without closing its host" : "ended without a word"
            return "the process \(process.pid) of \(process.name) \(end) at \(lastActivity) or later"
        }
    }

    private let store: ReportStore
    private let folding: ReportStore.Folding?

    /// Reading the images' files is the part that could kill a process: given up after so many who did not get to the
    /// end.
    ///
    /// Most of those died of something else.
    private static let maximumNamingAttempts = 24

    /// Seconds after which a temporary file has no process any more.
    private static let temporaryAge = 60

    /// Makes a finisher for a store.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - folding: When a report is only counted in one that is there; nil for never.
    package init(store: ReportStore, folding: ReportStore.Folding? = .default) {
        self.store = store
        self.folding = folding
    }

    /// Finishes every spool file that no process holds.
    ///
    /// Does nothing where there is no spool.
    ///
    /// - Parameter progress: Told after each report how many there are by now.
    /// - Returns: What was done.
    package func finish(progress: ((Int) -> Void)? = nil) -> Outcome {
        var outcome = Outcome()
        do {
            let folder = try FileDirectory(at: store.spoolPath)
            let status = try FileStatus(of: folder.descriptor)
            guard status.owner == geteuid() else {
                // Root reads the store of any user; the records in it are finished by that user's processes.
                if geteuid() != 0 {
                    outcome.problems.append(refusal(status))
                } else if let waiting = Self.waiting(in: store, folder) {
                    outcome.problems.append(waiting)
                }
                return outcome
            }
            let files = SymbolFiles(.ofThisProcess, budget: .agent)
            let names = try folder.names()
            var deaths = Deaths(names: names, in: folder)
            // A name of the form `.….tmp` is a file whose process died before it was ready, or is about to be.
            for name in names where name.hasSuffix(".spool") || name.hasSuffix(".tmp") {
                finish(store.spoolPath.appending(name), files, &deaths, &outcome, progress)
            }
            finish(deaths, in: folder, &outcome, progress)
        } catch {
            if error != .noSuchFileOrDirectory {
                let hint = error == .permissionDenied ? "; only its owner and root may read it" : ""
                outcome.problems.append("\(store.spoolPath): \(error)\(hint)")
            }
        }
        return outcome
    }

    /// Says that records of dead processes have no report yet; nil if there are none.
    private static func waiting(in store: ReportStore, _ folder: borrowing FileDirectory) -> String? {
        let running = (try? AskedProcess.heldSpools(of: store)) ?? []
        let names = ((try? folder.names()) ?? []).filter { $0.hasSuffix(".death") || $0.hasSuffix(".spool") }
        let count = names.filter { !running.contains($0) }.count
        guard count > 0, let owner = (try? FileStatus(of: folder.descriptor))?.owner else { return nil }
        // A user of systemd's DynamicUser= cannot get there, nor to /var/lib/private.
        let byOwner =
            isReachable(store.path, by: owner)
            ? "by user \(owner): sudo -u '#\(owner)' crashreport list --store \(store.path), or " : ""
        return """
            \(store.spoolPath): \(count == 1 ? "a process that has ended is" : "\(count) processes that have ended are") not among the \
            reports yet: those are made \(byOwner)of a copy: cp -r --no-preserve=ownership \(store.path) COPY, and then \
            crashreport list --store COPY
            """
    }

    /// Whether a user may enter all folders above one, as far as their modes say so.
    private static func isReachable(_ path: FilePath, by user: uid_t) -> Bool {
        var folder = path
        while folder.removeLastComponent(), !folder.isEmpty {
            var status = stat()
            guard unsafe stat(folder.string, &status) == 0 else { return false }
            guard status.st_mode & S_IXOTH != 0 || status.st_uid == user && status.st_mode & S_IXUSR != 0 else {
                return false
            }
        }
        return true
    }

    /// Says whose spool it is, and what to do: its mode may let this user read it, but the records are not this user's to remove.
    private func refusal(_ status: FileStatus) -> String {
        let mode = String(status.permissions, radix: 8)
        return """
            \(store.spoolPath) belongs to another user (uid \(status.owner), not \(geteuid()); mode \(mode)), who alone can finish the \
            records in it: sudo -u '#\(status.owner)' crashreport list --store \(store.path)
            """
    }

    private func finish(
        _ path: FilePath,
        _ files: SymbolFiles,
        _ deaths: inout Deaths,
        _ outcome: inout Outcome,
        _ progress: ((Int) -> Void)?
    ) {
        // O_NONBLOCK: a FIFO by that name must not hold us up.
        let descriptor = unsafe open(path.string, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno != ENOENT { outcome.problems.append("\(path): \(Errno(rawValue: errno))") }
            return
        }
        let file = OwnedDescriptor(takingOver: descriptor)
        // Open, and with it locked, until the file is removed.
        defer { withExtendedLifetime(file) {} }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid()
        else {
            outcome.problems.append("\(path): not a file of yours; remove it")
            return
        }
        // A young temporary file is being made: its process locks it in a moment.
        if path.extension == "tmp", status.st_mtim.tv_sec > time(nil) - Self.temporaryAge { return }
        guard Self.takesLock(of: file) else { return }
        do {
            let contents = try SpoolContents(bytes: file.readAll(limit: SpoolContents.maximumSize))
            noteAttempt(contents.attempts + 1, descriptor)
            do {
                try write(contents, files, &deaths, &outcome, progress)
                noteEnd(contents, path, deaths, &outcome)
            } catch {
                // An orderly failure, such as a full disk, says nothing against the records.
                noteAttempt(contents.attempts, descriptor)
                throw error
            }
        } catch let error as SpoolContents.Malformed where path.extension == "spool" {
            // Kept for whoever wants to look at it, under a name that is not tried again.
            let kept = path.string + ".damaged"
            unsafe rename(path.string, kept)
            outcome.problems.append("\(path): \(error.description); kept as \(kept)")
            return
        } catch is SpoolContents.Malformed {
            // A temporary file without a process holds nothing.
        } catch {
            outcome.problems.append("\(path): \(error)")
            outcome.isIncomplete = true
            return
        }
        unsafe unlink(path.string)
    }

    /// Makes reports of the deaths that belong to no fault, and removes their records.
    private func finish(
        _ deaths: Deaths,
        in folder: borrowing FileDirectory,
        _ outcome: inout Outcome,
        _ progress: ((Int) -> Void)?
    ) {
        for name in deaths.damaged {
            outcome.problems.append(
                "\(store.spoolPath.appending(name)): not the record of a death; kept as \(name).damaged"
            )
            try? folder.rename(name, to: "\(name).damaged")
        }
        guard !deaths.left.isEmpty else { return }
        let spools = (try? folder.names())?.filter { $0.hasSuffix(".spool") } ?? []
        // Read once: a crash loop may have left two thousand deaths.
        let reports = (try? store.summaries())?.summaries ?? []
        let faults = Dictionary(grouping: reports.filter { $0.kind == .fault }, by: \.pid)
        // One whose spool somebody else finishes at this moment may belong to the fault in it.
        for (name, record) in deaths.left where !spools.contains(where: record.mayBeOfProcess(ofSpool:)) {
            // Locked until it is removed: somebody else may be making its report, or have made it since.
            guard let file = try? folder.open(name), Self.takesLock(of: file) else { continue }
            defer { withExtendedLifetime(file) {} }
            do {
                try store.create()
                if try add(record, toOneOf: faults[record.pid] ?? [], deaths) {
                    try? folder.remove(name)
                    continue
                }
                outcome.reports.append(try store.add(record.report(), folding: folding))
                try? folder.remove(name)
                progress?(outcome.reports.count)
            } catch {
                outcome.problems.append("\(store.spoolPath.appending(name)): \(error)")
                outcome.isIncomplete = true
            }
        }
    }

    /// Whether a file is this process's to finish: another may have its lock, or have finished and removed it between open(2) and flock(2).
    private static func takesLock(of file: borrowing OwnedDescriptor) -> Bool {
        guard flock(file.rawValue, LOCK_EX | LOCK_NB) == 0 else { return false }
        var status = stat()
        return unsafe fstat(file.rawValue, &status) == 0 && status.st_nlink > 0
    }

    /// Adds a death to the report of the fault that ended the process, if somebody has made that before the supervisor wrote of the end.
    ///
    /// - Parameters:
    ///   - record: The death.
    ///   - faults: Reports of faults of processes with its number.
    ///   - deaths: What else the spool has.
    /// - Returns: Whether there was such a report.
    /// - Throws: `ReportStoreError` if it cannot be written.
    private func add(
        _ record: DeathRecord,
        toOneOf faults: [ReportSummary],
        _ deaths: Deaths
    ) throws(ReportStoreError) -> Bool {
        for fault in faults where fault.timestamp >= record.time.adding(seconds: -Self.longestEnd) {
            guard let report = try? store.load(fault.id), record.isEnd(of: report),
                !deaths.hasSuccessor(record.pid, report.process.startTime)
            else { continue }
            // Who told of it before may not have got to the end.
            if let death = report.death {
                if record.isOf(death) { return true } else { continue }
            }
            try store.update(fault.id) { $0.add(record.death(TextRedaction())) }
            return true
        }
        return false
    }

    /// In seconds, from a fault that ends its process to that end: it may drain before.
    private static let longestEnd = 30.0

    /// Notes that a process ended without saying why, unless its supervisor has: that has a report of its own.
    private func noteEnd(_ contents: SpoolContents, _ path: FilePath, _ deaths: Deaths, _ outcome: inout Outcome) {
        // A temporary file has no process yet that could end; a verdict other than to go on says why there is no process any more.
        guard path.extension == "spool", contents.end == .none || contents.end == .exit,
            contents.records.allSatisfy({ $0.verdict == .resume }), !deaths.hasEnd(of: contents.process),
            // Without its lock: a copy of the store was made while it ran.
            !contents.process.isRunning
        else { return }
        outcome.silentEnds.append(
            SilentEnd(
                process: contents.process,
                lastActivity: contents.lastActivity,
                hasExited: contents.end == .exit
            )
        )
    }

    /// Counts an attempt before it is made: whoever dies of these records must not take its successors along.
    private func noteAttempt(_ number: Int, _ descriptor: CInt) {
        var count = UInt32(clamping: number)
        _ = unsafe pwrite(descriptor, &count, MemoryLayout<UInt32>.size, off_t(SpoolContents.attemptsOffset))
    }

    private func write(
        _ contents: SpoolContents,
        _ files: SymbolFiles,
        _ deaths: inout Deaths,
        _ outcome: inout Outcome,
        _ progress: ((Int) -> Void)?
    ) throws {
        guard !contents.records.isEmpty else { return }
        // A store without limits of its own, as that of `crashreport`, keeps those of the process.
        let store = ReportStore(path: self.store.path, limits: self.store.limits ?? contents.limits)
        try store.create()
        // Who died while naming functions does not make its successor do the same; one that found the heap broken after another
        // thread's fault did not die of that.
        let namesFunctions =
            contents.attempts < Self.maximumNamingAttempts
            && contents.records.first { $0.verdict != .resume }?.threadName != FaultRecord.reportWriterThreadName
        let builder = ReportBuilder(process: contents.process, namesFunctions: namesFunctions, files: files)
        for record in contents.records {
            var notes = ["the report was finished after the process had ended"]
            if !namesFunctions {
                notes.append("its functions are not named: whoever tried before did not get to the end")
            }
            var report = builder.report(of: record, images: contents.images, notes: notes)
            // The fault that ended it and its end are one story.
            var death: (name: String, record: DeathRecord)?
            if record.verdict != .resume {
                death = deaths.take(of: contents.process, hasRestarted: record.verdict == .restart)
                // Who made it before, and did not get to the end, may have taken the record of the end with it.
                let end =
                    death?.record.death(contents.process.surroundings.redaction)
                    ?? (try? store.load(report.id))?.death
                if let end { report.add(end) }
            }
            // One of a crash loop may only be counted in another.
            outcome.reports.append(try store.add(report, folding: folding))
            // Before the spool: whoever finds the record and no spool makes a report of the end alone.
            if let death { unsafe unlink(store.spoolPath.appending(death.name).string) }
            progress?(outcome.reports.count)
        }
    }
}
