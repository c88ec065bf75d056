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
    }
}
