internal import CRecordLayout
internal import Glibc
internal import LinuxSystem
package import SystemPackage

/// The question to a process what its tasks do.
///
/// It is SIGSTKFLT with a number, which only a process of Holdfast's gets: others would end by it (signal(7)). The process writes a file with
/// that number into the folder of its spool. A file that nobody takes is removed like other temporary ones (`SpoolFinisher`).
package struct TaskQuestion: Sendable {
    /// What tells it from others.
    package let number: UInt32

    /// Makes one, by its number.
    package init(number: UInt32 = .random(in: 1 ..< .max)) {
        self.number = number
    }

    /// What the file is called while it is being written, behind its name.
    package static let draftSuffix = ".draft.tmp"

    /// The name of the file with the answer.
    package var answerName: String { ".tasks-\(number).tmp" }

    /// More than the largest dump.
    private static let mostBytes = 64 << 20

    /// Sends it.
    ///
    /// - Parameter pid: A process that `AskedProcess` has found a moment ago.
    /// - Throws: The error of sigqueue(3).
    package func send(to pid: CInt) throws(Errno) {
        let value = unsafe sigval(sival_ptr: UnsafeMutableRawPointer(bitPattern: UInt(HF_QUESTION_MARK) | UInt(number)))
        try SystemCall.checked { unsafe sigqueue(pid, SIGSTKFLT, value) }
    }

    /// Waits for the answer, and takes it away.
    ///
    /// - Parameters:
    ///   - store: The store of the process.
    ///   - limit: How long to wait at most.
    /// - Returns: The bytes that the process wrote; nil if there is no answer in time.
    /// - Throws: The error of reading it.
    package func answer(in store: ReportStore, within limit: Duration) throws(Errno) -> [UInt8]? {
        let folder = try FileDirectory(at: store.spoolPath)
        let end = ContinuousClock.now + limit
        while true {
            do {
                let file = try folder.open(answerName)
                let bytes = try file.readAll(limit: Self.mostBytes)
                try? folder.remove(answerName)
                return bytes
            } catch {
                guard error == .noSuchFileOrDirectory else { throw error }
            }
            guard ContinuousClock.now < end else { return nil }
            usleep(2000)
        }
    }
}

/// A process that has a store and runs.
package struct AskedProcess: Sendable, Hashable {
    /// Its pid, as this process knows it.
    package var pid: CInt
    /// The name of its main thread.
    package var name: String
    /// Whether it can be asked: it catches the signal.
    package var canAnswer: Bool

    /// Finds the processes of a store.
    ///
    /// A spool file is locked by its process. Only one that has the file open is told of: a signal to another might end it.
    ///
    /// - Parameter store: The store.
    /// - Returns: Those that the user may look at, by their pids.
    /// - Throws: The error of reading the folder of the spool, or /proc/locks.
    package static func all(of store: ReportStore) throws(Errno) -> [AskedProcess] {
        let folder = try FileDirectory(at: store.spoolPath)
        let files = try folder.names().filter { $0.hasSuffix(".spool") }
        let spools = Set(files.compactMap { try? FileStatus(of: $0, in: folder).inode })
        guard !spools.isEmpty else { return [] }
        let owners = Set(try locks(on: spools).map(\.owner))
        return owners.sorted().filter { hasOpen(spools, $0) }.map { pid in
            let status = SmallFile.text("/proc/\(pid)/status") ?? ""
            return AskedProcess(
                pid: pid,
                name: SmallFile.text("/proc/\(pid)/comm")?.split(separator: "\n").first.map(String.init) ?? "",
                canAnswer: ProcessStatus.catches(SIGSTKFLT, status)
            )
        }
    }

    /// The spool files that processes hold.
    ///
    /// - Parameter store: The store.
    /// - Returns: Their names.
    /// - Throws: The error of reading the folder of the spool, or /proc/locks.
    static func heldSpools(of store: ReportStore) throws(Errno) -> Set<String> {
        let folder = try FileDirectory(at: store.spoolPath)
        let names = try folder.names().filter { $0.hasSuffix(".spool") }
        let spools = names.compactMap { name in (try? FileStatus(of: name, in: folder)).map { (name, $0.inode) } }
        let held = Set(try locks(on: Set(spools.map(\.1))).map(\.inode))
        return Set(spools.filter { held.contains($0.1) }.map(\.0))
    }

    private static func locks(on inodes: Set<UInt64>) throws(Errno) -> [(owner: CInt, inode: UInt64)] {
        let bytes = try OwnedDescriptor(reading: "/proc/locks", followingLinks: false).readAll(limit: 16 << 20)
        return locks(on: inodes, in: String(decoding: bytes, as: UTF8.self))
    }

    /// The locks of flock(2) on files, with the processes that hold them, by the files' inodes:
    /// `1: FLOCK ADVISORY WRITE 1234 fe:00:5678 0 EOF` (proc_locks(5)).
    static func locks(on inodes: Set<UInt64>, in locks: String) -> [(owner: CInt, inode: UInt64)] {
        locks.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count >= 6, words[1] == "FLOCK",
                let inode = words[5].split(separator: ":").last.flatMap({ UInt64($0) }),
                inodes.contains(inode)
            else { return nil }
            return CInt(words[4]).flatMap { $0 > 0 ? ($0, inode) : nil }
        }
    }

    /// Whether a process has one of some files open.
    private static func hasOpen(_ inodes: Set<UInt64>, _ pid: CInt) -> Bool {
        guard let names = try? FileDirectory(at: FilePath("/proc/\(pid)/fd")).names() else { return false }
        return names.contains { name in
            var status = stat()
            return unsafe stat("/proc/\(pid)/fd/\(name)", &status) == 0 && inodes.contains(UInt64(status.st_ino))
        }
    }
}
