import Glibc
import LinuxSystem
import SystemPackage

/// What a path for output stands for, and how bytes get there.
///
/// A regular file is replaced as a whole, so that it never is a part of what it should be, and is what it was if the disk is
/// full. Everything else, such as a device or a FIFO, stays what it is and is written into.
enum OutputTarget {
    /// What this process has open, such as `/dev/fd/3`.
    case descriptor(CInt)
    /// A device, a FIFO, or what belongs to another process.
    case special(FilePath)
    /// A regular file, or nothing yet; no symbolic link.
    case file(FilePath)

    /// As many symbolic links as the kernel follows (path_resolution(7)).
    private static let mostLinks = 40

    /// Looks at what is there, following symbolic links.
    init(of path: FilePath) throws(Errno) {
        var path = path
        for _ in 0...Self.mostLinks {
            if let number = Self.openDescriptor(path) {
                self = .descriptor(number)
                return
            }
            let status = try? FileStatus(of: path)
            // Links there lead to what is open, not to a name: nothing can be put in its place.
            if path.string.hasPrefix("/proc/") {
                self = .special(path)
                return
            }
            guard status?.kind == .symbolicLink else {
                self = status == nil || status?.kind == .regular ? .file(path) : .special(path)
                return
            }
            let link = try Self.readLink(path)
            path = link.isAbsolute ? link : path.removingLastComponent().pushing(link)
        }
        throw .tooManySymbolicLinkLevels
    }

    /// Writes bytes, in the place of what a file had.
    func write(_ bytes: [UInt8]) throws {
        switch self {
        case .descriptor(let number): try FileDescriptor(rawValue: number).writeAll(bytes)
        case .special(let path):
            let file = try FileDescriptor.open(path, .writeOnly, options: [.closeOnExec])
            try file.closeAfter { _ = try file.writeAll(bytes) }
        case .file(let path):
            do {
                try Self.replace(path, with: bytes)
            } catch let error as Errno where Self.refusals.contains(error) {
                try Self.overwrite(path, with: bytes)
            }
        }
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
        let isThere = unsafe fstatat(number, name, &old, AT_SYMLINK_NOFOLLOW) == 0
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

    private static func overwrite(_ path: FilePath, with bytes: [UInt8]) throws {
        let file = try FileDescriptor.open(
            path,
            .writeOnly,
            options: [.create, .truncate, .closeOnExec],
            permissions: .ownerReadWrite
        )
        try file.closeAfter { _ = try file.writeAll(bytes) }
    }

    /// The number in `/dev/fd/3`; opening it anew would begin at the start of a file that others write, too.
    private static func openDescriptor(_ path: FilePath) -> CInt? {
        switch path.string {
        case "/dev/stdout": return STDOUT_FILENO
        case "/dev/stderr": return STDERR_FILENO
        default: break
        }
        for folder in ["/dev/fd/", "/proc/self/fd/"] where path.string.hasPrefix(folder) {
            return CInt(path.string.dropFirst(folder.count))
        }
        return nil
    }

    private static func readLink(_ path: FilePath) throws(Errno) -> FilePath {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        try check(CInt(unsafe readlink(path.string, &buffer, Int(PATH_MAX))))
        return FilePath(platformString: buffer)
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
