import Glibc
public import SystemPackage

/// What the system says about a file.
public struct FileStatus: Sendable, Hashable {
    /// What kind of file it is, as far as this package cares.
    public enum Kind: Sendable, Hashable {
        /// A regular file.
        case regular
        /// A directory.
        case directory
        /// A symbolic link.
        case symbolicLink
        /// A device, a socket or a FIFO.
        case other
    }

    /// What kind of file it is.
    public let kind: Kind
    /// The user it belongs to.
    public let owner: UInt32
    /// Its size in bytes.
    public let size: Int64
    /// The permissions of owner, group and others: the last twelve bits of `st_mode`.
    public let permissions: UInt32
    /// The device that it lies on.
    public let device: UInt64
    /// Its number on that device.
    public let inode: UInt64
    /// When its contents were written last, in nanoseconds since 1970 (1678 to 2262).
    public let modified: Int64

    /// Whether it belongs to the user of this process and nobody else may write it: what others may write proves nothing.
    package var isOursAlone: Bool { owner == geteuid() && permissions & 0o022 == 0 }

    /// Asks about the file at a path; a symbolic link at its end is not followed.
    ///
    /// The corresponding C function is `lstat`.
    ///
    /// - Parameter path: The path.
    /// - Throws: The error of the call, such as `ENOENT`.
    public init(of path: FilePath) throws(Errno) {
        var buffer = stat()
        try SystemCall.checked { unsafe path.withPlatformString { unsafe lstat($0, &buffer) } }
        self.init(buffer)
    }

    /// Asks about an open file.
    ///
    /// The corresponding C function is `fstat`.
    ///
    /// - Parameter descriptor: The open file.
    /// - Throws: The error of the call.
    public init(of descriptor: borrowing OwnedDescriptor) throws(Errno) {
        let number = descriptor.rawValue
        var buffer = stat()
        try SystemCall.checked { unsafe fstat(number, &buffer) }
        self.init(buffer)
    }

    /// Asks about a file of an open directory; a symbolic link is not followed.
    ///
    /// The corresponding C function is `fstatat` with `AT_SYMLINK_NOFOLLOW`.
    ///
    /// - Parameters:
    ///   - name: The name of the file.
    ///   - directory: The open directory.
    /// - Throws: The error of the call, such as `ENOENT`.
    public init(of name: String, in directory: borrowing FileDirectory) throws(Errno) {
        let number = directory.descriptor.rawValue
        var buffer = stat()
        try SystemCall.checked { unsafe fstatat(number, name, &buffer, AT_SYMLINK_NOFOLLOW) }
        self.init(buffer)
    }

    private init(_ buffer: stat) {
        kind =
            switch buffer.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            case S_IFLNK: .symbolicLink
            default: .other
            }
        owner = buffer.st_uid
        size = Int64(buffer.st_size)
        permissions = UInt32(buffer.st_mode & 0o7777)
        device = UInt64(buffer.st_dev)
        inode = UInt64(buffer.st_ino)
        // Wraps: a time that does not fit is as good as any other.
        modified = Int64(buffer.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(buffer.st_mtim.tv_nsec)
    }
}
