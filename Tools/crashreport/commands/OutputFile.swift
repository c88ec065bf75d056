import ArgumentParser
import Glibc
import LinuxSystem
import SystemPackage

/// A file or a folder that a user named for output; `-` is the standard output.
///
/// A regular file is replaced as a whole, so that it never is a part of what it should be, and is what it was if the disk is
/// full. Everything else, such as a device or a FIFO, stays what it is and is written into.
struct OutputFile {
    let path: String
    /// Whether the user named it; if not, a link by that name is somebody else's.
    private var isNamed = true

    init(_ path: String) {
        self.path = path
    }

    /// Whether it is the standard output.
    var isStandardOutput: Bool { path == "-" }

    /// Whether it is meant to be a folder: it is one, or is written like one.
    var isFolder: Bool {
        var status = stat()
        let isThere = unsafe stat(path, &status) == 0
        return isThere ? status.st_mode & S_IFMT == S_IFDIR : path.hasSuffix("/")
    }

    /// Writes bytes, in the place of what was there; what cannot be written is said, and the exit status thrown.
    ///
    /// A new file is for its owner only, as reports are; one that is there keeps its mode.
    func write(_ bytes: [UInt8]) throws {
        guard !isStandardOutput else { return try Output.write(bytes: bytes) }
        do {
            try put(bytes)
        } catch Errno.brokenPipe {
            // A FIFO, or /dev/stdout: whoever reads has seen enough.
            throw ExitCode.success
        } catch {
            throw Self.failure(path, error)
        }
    }

    /// Makes the folder if it is not there.
    func createFolder() throws {
        guard unsafe mkdir(path, 0o700) != 0 else { return }
        let error = Errno(rawValue: errno)
        guard error != .fileExists || !isFolder else { return }
        throw Self.failure(path, error)
    }

    /// A file in this folder; a link that has its name is replaced.
    func file(_ name: String) -> OutputFile {
        var file = OutputFile(FilePath(path).appending(name).string)
        file.isNamed = false
        return file
    }

    private static func failure(_ path: String, _ error: any Error) -> ExitCode {
        Output.complain("cannot write \(path): \(error)")
        return ExitStatus.cannotWrite
    }

    private func put(_ bytes: [UInt8]) throws {
        if !isNamed, Self.isLink(path) { return try Self.replace(FilePath(path), with: bytes) }
        if let number = Self.openDescriptor(path) {
            _ = try FileDescriptor(rawValue: number).writeAll(bytes)
            return
        }
        let target = (try? Self.realPath(FilePath(path))) ?? FilePath(path)
        let kind = (try? FileStatus(of: target))?.kind
        // Names in /proc are of what is open: nothing can be put in its place.
        guard kind == nil || kind == .regular, !target.string.hasPrefix("/proc/") else {
            return try Self.overwrite(target, with: bytes, options: [.create, .closeOnExec])
        }
        do {
            try Self.replace(target, with: bytes)
        } catch let error as Errno where Self.refusals.contains(error) {
            try Self.overwrite(target, with: bytes, options: [.create, .truncate, .closeOnExec])
        }
    }

    private static func isLink(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    /// What is said where a folder takes no new file, or no other in the place of one: for a mount point, or an owner that
    /// cannot be given to another file.
    private static let refusals: Set<Errno> = [.permissionDenied, .notPermitted, .readOnlyFileSystem, .resourceBusy]

    private static func replace(_ path: FilePath, with bytes: [UInt8]) throws {
        guard let name = path.lastComponent?.string else { throw Errno.isDirectory }
        let parent = path.removingLastComponent()
        let folder = try FileDirectory(at: try realPath(parent.isEmpty ? "." : parent))
        let number = folder.descriptor.rawValue
        var old = stat()
        // A link is replaced itself, and says nothing of who may read the file.
        let isThere = unsafe fstatat(number, name, &old, AT_SYMLINK_NOFOLLOW) == 0 && old.st_mode & S_IFMT != S_IFLNK
        // A rename(2) would not mind.
        if isThere, unsafe faccessat(number, name, W_OK, AT_EACCESS) != 0 { throw Errno(rawValue: errno) }
        let temporary = ".crashreport-\(UInt32.random(in: .min ... .max)).tmp"
        let file = try folder.create(temporary)
        do {
            try file.writeAll(bytes)
            if isThere { try give(file, ownerAndModeOf: old) }
            try file.synchronize()
            try folder.rename(temporary, to: name)
        } catch {
            try? folder.remove(temporary)
            throw error
        }
    }

    private static func give(_ file: borrowing OwnedDescriptor, ownerAndModeOf old: stat) throws(Errno) {
        let number = file.rawValue
        var new = stat()
        try check(unsafe fstat(number, &new))
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) { try check(fchown(number, old.st_uid, old.st_gid)) }
        try check(fchmod(number, old.st_mode & 0o777))
    }

    private static func overwrite(_ path: FilePath, with bytes: [UInt8], options: FileDescriptor.OpenOptions) throws {
        let file = try FileDescriptor.open(path, .writeOnly, options: options, permissions: .ownerReadWrite)
        try file.closeAfter { _ = try file.writeAll(bytes) }
    }

    /// The number in `/dev/fd/3`; opening it anew would begin at the start of a file that others write, too.
    private static func openDescriptor(_ path: String) -> CInt? {
        if let number = ["/dev/stdout": STDOUT_FILENO, "/dev/stderr": STDERR_FILENO][path] { return number }
        let folder = ["/dev/fd/", "/proc/self/fd/"].first(where: path.hasPrefix)
        return folder.flatMap { CInt(path.dropFirst($0.count)) }
    }

    private static func realPath(_ path: FilePath) throws(Errno) -> FilePath {
        guard let real = unsafe realpath(path.string, nil) else { throw Errno(rawValue: errno) }
        defer { unsafe free(real) }
        return unsafe FilePath(platformString: real)
    }

    private static func check(_ result: CInt) throws(Errno) {
        if result < 0 { throw Errno(rawValue: errno) }
    }
}
