internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// What a process has read of its program, for the next processes of it, in a folder beside the reports.
///
/// The newest few are kept. A store that cannot be used keeps nothing, and nobody misses it.
extension ReportStore {
    private static let mostKept = 4

    /// Where they are.
    var keptPath: FilePath { path.appending("code") }

    /// Reads a file that a process of this user has kept.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - limit: The most bytes that it may have.
    /// - Returns: Its bytes; nil where there is none.
    package func kept(_ name: String, limit: Int) -> [UInt8]? {
        guard let folder = openKept(), let file = try? folder.open(name), let status = try? FileStatus(of: file),
            status.kind == .regular, status.isOursAlone, status.size <= limit
        else { return nil }
        return try? file.contents(Int(status.size))
    }

    /// Keeps a file for the next processes, in the place of one of the same name.
    ///
    /// - Parameters:
    ///   - bytes: What is in it.
    ///   - name: Its name.
    package func keep(_ bytes: [UInt8], as name: String) {
        guard let folder = openKept(creating: true), (try? folder.tryLock()) == true else { return }
        let temporary = ".new"
        do {
            try? folder.remove(temporary)
            let file = try folder.create(temporary)
            try file.writeAll(bytes)
            // Not synchronized: a file that is damaged is read as none.
            try folder.rename(temporary, to: name)
        } catch {
            try? folder.remove(temporary)
        }
        let files = ((try? folder.names()) ?? []).filter { !$0.hasPrefix(".") }
            .map { (name: $0, time: (try? FileStatus(of: $0, in: folder))?.modified ?? 0) }
        for old in files.sorted(by: { ($0.time, $0.name) > ($1.time, $1.name) }).dropFirst(Self.mostKept) {
            try? folder.remove(old.name)
        }
    }

    private func openKept(creating: Bool = false) -> FileDirectory? {
        // A store that somebody has removed stays away.
        guard (try? openRoot()) != nil else { return nil }
        if creating { try? FileDirectory.create(at: keptPath) }
        guard let folder = try? FileDirectory(at: keptPath),
            let status = try? FileStatus(of: folder.descriptor), status.isOursAlone
        else { return nil }
        return folder
    }
}
