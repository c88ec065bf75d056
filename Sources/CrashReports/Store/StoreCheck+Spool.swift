internal import Glibc
internal import LinuxSystem
internal import SystemPackage

extension StoreCheck {
    /// Looks at the records that are no reports yet.
    mutating func checkSpool() {
        do throws(Errno) {
            let status = try FileStatus(of: store.spoolPath)
            let owner = geteuid()
            guard status.kind == .directory, status.owner == owner else {
                return noteStrange(store.spoolPath, status, wanted: "folder")
            }
            let folder = try FileDirectory(at: store.spoolPath)
            checkMode(of: store.spoolPath, allowing: 0o700) { () throws(Errno) in try folder.closeToOthers() }
            for name in try folder.names().sorted() where name != "." && name != ".." {
                try checkRecords(name, folder)
            }
        } catch {
            guard error != .noSuchFileOrDirectory else { return }
            note(
                .unreadable,
                store.spoolPath,
                "it cannot be read: \(error)",
                advice: error.hint ?? "see who may read it"
            )
        }
    }

    private mutating func noteStrange(_ path: FilePath, _ status: FileStatus, wanted: String) {
        switch status.kind {
        case .symbolicLink:
            note(.symbolicLink, path, "it is a symbolic link, which could lead anywhere", advice: "remove it")
        case .regular where wanted == "file", .directory where wanted == "folder":
            let problem = "it belongs to another user (uid \(status.owner), not \(geteuid()))"
            note(.wrongOwner, path, problem, advice: "chown it, or make a copy of your own")
        default:
            note(.wrongKind, path, "it is not a \(wanted)", advice: "move it out of the way")
        }
    }

    private mutating func checkRecords(_ name: String, _ folder: borrowing FileDirectory) throws(Errno) {
        let path = store.spoolPath.appending(name)
        let status: FileStatus
        do {
            status = try FileStatus(of: name, in: folder)
        } catch .noSuchFileOrDirectory {
            // Finished by somebody since.
            return
        }
        guard status.kind == .regular, status.owner == geteuid() else {
            return noteStrange(path, status, wanted: "file")
        }
        if name.hasSuffix(".spool") || name.hasSuffix(".damaged") { checkMode(of: name, in: store.spoolPath, folder) }
        if name.hasSuffix(".damaged") {
            note(
                .damagedRecords,
                path,
                "records of faults that could not be read",
                advice: "send it to whoever maintains Holdfast, then remove it"
            )
        } else if name.hasSuffix(".spool") || name.hasSuffix(".tmp") {
            // A process holds its file locked as long as it runs.
            guard let file = try? folder.open(name), flock(file.rawValue, LOCK_SH | LOCK_NB) == 0 else { return }
            guard name.hasSuffix(".spool") else {
                return note(
                    .leftover,
                    path,
                    "a process that died has left it",
                    advice: "list the reports once more: it is removed when it is a minute old"
                )
            }
            note(
                .unfinishedRecords,
                path,
                "faults of a dead process of which there is no report yet",
                advice: "list the reports, or start the program: both finish it"
            )
        } else {
            note(.strangeFile, path, "it has nothing to do with faults", advice: "move it to where it belongs")
        }
    }
}
