internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// The supervisor's files in the store: what outlives it.
///
/// ```
/// STORE/spool/PID-TIME.death   deaths of which there is no report yet
/// STORE/run/NAME.count         how often a program has ended early
/// STORE/run/NAME.life          the process that runs
/// STORE/run/NAME.sock          where a supervisor listens to `holdfast status` and the like
/// ```
struct StateFolder: Sendable {
    let store: FilePath

    private var run: FilePath { store.appending("run") }

    /// Why nothing can be kept in the store.
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    /// Makes the folders.
    ///
    /// - Throws: `Problem`, if one cannot be made, or belongs to another user, who would not be able to read what is written there, and who could
    ///   change it at any time.
    func create() throws(Problem) {
        do {
            try FileDirectory.create(at: store)
            // A volume of a container is root's, and so is the symbolic link to the store of a unit with DynamicUser=.
            for folder in [store, store.appending(".")] {
                try requireOwn(folder, FileStatus(of: folder).owner, orRoot: true)
            }
            for path in [run, store.appending("spool")] {
                try FileDirectory.create(at: path)
                let folder = try FileDirectory(at: path)
                try requireOwn(path, FileStatus(of: folder.descriptor).owner, orRoot: false)
                if path == run { try folder.closeToOthers() }
            }
        } catch let problem as Problem {
            throw problem
        } catch {
            throw Problem(description: "\(store): \(error)")
        }
    }

    private func requireOwn(_ folder: FilePath, _ owner: UInt32, orRoot: Bool) throws(Problem) {
        guard owner != geteuid(), owner != 0 || !orRoot else { return }
        throw Problem(description: "\(folder) belongs to another user (uid \(owner), not \(geteuid()))")
    }

    /// What a file of ours says; nil for one that others may have written.
    private func text(of name: String) -> String? {
        guard let folder = try? FileDirectory(at: run),
            let status = try? FileStatus(of: folder.descriptor), status.isOursAlone,
            let file = try? folder.open(name),
            let status = try? FileStatus(of: file), status.kind == .regular, status.isOursAlone,
            let bytes = try? file.readAll(limit: 4096)
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The name of a program's file: its own, as far as that can be one; of another the sum of the whole name is a part.
    private static func fileName(_ program: String) -> String {
        let name = program.unicodeScalars.prefix(64).map { scalar in
            scalar.isASCII && (scalar.properties.isAlphabetic || "0123456789-_.".unicodeScalars.contains(scalar))
                ? Character(scalar) : "_"
        }
        let own = name.first == "." || name.isEmpty ? "_" + String(name) : String(name)
        guard own != program else { return own }
        // FNV-1a (RFC 9923).
        let sum = program.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
        return "\(own.prefix(54))-\(String(sum, radix: 16))"
    }

    /// Where a supervisor listens.
    func socket(of program: String) -> FilePath { run.appending("\(Self.fileName(program)).sock") }

    /// The sockets of all supervisors that use the store; nil if that may not be seen.
    func sockets() -> [FilePath]? {
        let names: [String]
        do {
            names = try FileDirectory(at: run).names()
        } catch {
            return error == .permissionDenied ? nil : []
        }
        return names.filter { $0.hasSuffix(".sock") }.sorted().map { run.appending($0) }
    }

    /// What is known of the ends of a program.
    func count(of program: String) -> EndCount {
        text(of: "\(Self.fileName(program)).count").map(EndCount.init(text:)) ?? EndCount()
    }

    /// Writes that.
    func write(_ count: EndCount, of program: String) throws(Errno) {
        try replace("\(Self.fileName(program)).count", in: run, with: count.text)
    }

    /// The process of a program that runs, or that nobody has seen end.
    func life(of program: String) -> LifeNote? {
        text(of: "\(Self.fileName(program)).life").flatMap(LifeNote.init(text:))
    }

    /// Writes that; nil for no process.
    func write(_ note: LifeNote?, of program: String) throws(Errno) {
        let name = "\(Self.fileName(program)).life"
        if let note { return try replace(name, in: run, with: note.text) }
        try? FileDirectory(at: run).remove(name)
    }

    /// How many records wait at most for somebody to make reports of them: a crash loop must not fill the disk.
    private static let mostDeaths = 2048

    /// Removes the oldest records if there are too many.
    private func limitDeaths() {
        guard let spool = try? FileDirectory(at: store.appending("spool")), let names = try? spool.names() else {
            return
        }
        let deaths = names.filter { $0.hasSuffix(".death") }
        guard deaths.count >= Self.mostDeaths else { return }
        func end(_ name: String) -> Int64 { Int64(name.split { $0 == "-" || $0 == "." }.dropFirst().first ?? "") ?? 0 }
        let oldest = deaths.map { (end: end($0), name: $0) }.sorted { $0.end < $1.end }
        // Some more at once: the next start waits for this.
        for (_, name) in oldest.prefix(deaths.count - Self.mostDeaths + 64) {
            try? spool.remove(name)
        }
    }

    /// Writes the record of a death.
    func write(_ record: DeathRecord) throws(Errno) {
        limitDeaths()
        try replace(
            "\(record.pid)-\(record.ended).death",
            in: store.appending("spool"),
            with: record.json
        )
    }

    /// Writes a file so that there is either the old one or the new one.
    ///
    /// Not synchronized: that takes 3 ms of a restart, and only the end of the machine loses what was written.
    private func replace(
        _ name: String,
        in folder: FilePath,
        with text: String
    ) throws(Errno) {
        let path = folder.appending(name)
        let temporary = folder.appending(".\(name).\(getpid()).new")
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW
        let file = OwnedDescriptor(
            takingOver: try SystemCall.checked {
                unsafe temporary.withPlatformString { unsafe Glibc.open($0, flags, 0o600) }
            }
        )
        do {
            try file.writeAll(Array(text.utf8))
            try SystemCall.checked {
                unsafe temporary.withPlatformString { old in
                    unsafe path.withPlatformString { unsafe rename(old, $0) }
                }
            }
        } catch {
            _ = unsafe temporary.withPlatformString { unsafe unlink($0) }
            throw error
        }
    }
}
