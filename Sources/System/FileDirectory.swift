internal import CLinuxShims
import Glibc
public import SystemPackage

/// An open directory, whose files are named relative to it.
///
/// Once it is open, nobody can put another directory in its place.
public struct FileDirectory: ~Copyable, Sendable {
    /// The open directory.
    public let descriptor: OwnedDescriptor

    /// Opens a directory; a symbolic link at the end of the path is not followed.
    ///
    /// The corresponding C function is `open` with `O_DIRECTORY` and `O_NOFOLLOW`.
    ///
    /// - Parameter path: The path.
    /// - Throws: The error of the call: `ENOTDIR` for a symbolic link and for what is no directory.
    public init(at path: FilePath) throws(Errno) {
        let flags = O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW
        descriptor = OwnedDescriptor(
            takingOver: try SystemCall.checked { unsafe path.withPlatformString { unsafe Glibc.open($0, flags) } }
        )
    }

    deinit {
        // A forked child has the open directory, too, until it executes a program. Closing only ours would leave it locked (flock(2)).
        _ = flock(descriptor.rawValue, LOCK_UN)
    }

    /// Makes a directory that only its owner can use, and its missing parents.
    ///
    /// The corresponding C function is `mkdir`. Directories that exist stay as they are.
    ///
    /// - Parameter path: The path.
    /// - Throws: The error of a call.
    public static func create(at path: FilePath) throws(Errno) {
        do {
            try make(path)
        } catch .noSuchFileOrDirectory {
            let parent = path.removingLastComponent()
            guard !parent.isEmpty, parent != path else { throw .noSuchFileOrDirectory }
            try create(at: parent)
            try make(path)
        }
    }

    private static func make(_ path: FilePath) throws(Errno) {
        do {
            try SystemCall.checked { unsafe path.withPlatformString { unsafe mkdir($0, 0o700) } }
        } catch .fileExists {
            // Not checked here whether it is a directory: opening it will tell.
        }
    }

    /// Takes the directory's permissions away from everybody but its owner.
    ///
    /// The corresponding C function is `fchmod`, with mode 0700.
    ///
    /// - Throws: The error of the call.
    public func closeToOthers() throws(Errno) {
        let number = descriptor.rawValue
        try SystemCall.checked { fchmod(number, 0o700) }
    }

    /// Takes permissions away from the directory.
    ///
    /// The corresponding C function is `fchmod`.
    ///
    /// - Parameter allowed: The permissions that may stay.
    /// - Throws: The error of a call.
    public func restrictPermissions(to allowed: UInt32) throws(Errno) {
        let number = descriptor.rawValue
        var status = stat()
        try SystemCall.checked { unsafe fstat(number, &status) }
        try SystemCall.checked { fchmod(number, status.st_mode & (allowed | 0o7000)) }
    }

    /// Waits until nobody else has locked the directory, and locks it until this value ends.
    ///
    /// The corresponding C function is `flock`. The lock is advisory: it stops only those who ask for it.
    ///
    /// - Throws: The error of the call.
    public func lock() throws(Errno) {
        let number = descriptor.rawValue
        try SystemCall.checked { flock(number, LOCK_EX) }
    }

    /// Lists the names in the directory, without those that are not UTF-8.
    ///
    /// The corresponding C function is `scandirat`: `readdir` tells an error from the end only by an `errno` that was cleared before.
    ///
    /// - Returns: The names in no order, with `.` and `..`.
    /// - Throws: The error of the call.
    public func names() throws(Errno) -> [String] {
        let number = descriptor.rawValue
        var list: UnsafeMutablePointer<UnsafeMutablePointer<dirent>?>? = nil
        let count = try SystemCall.checked { unsafe hf_scan_directory(number, &list) }
        defer { unsafe free(list) }
        var names: [String] = []
        for index in 0..<Int(count) {
            guard let entry = unsafe list?[index] else { continue }
            defer { unsafe free(entry) }
            // Only as much as the name needs was allocated, so the field must not be read as a whole.
            guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { continue }
            let name = unsafe (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self)
            if let name = unsafe String(validatingCString: name) { names.append(name) }
        }
        return names
    }

    /// Opens a file of the directory; a symbolic link is not followed.
    ///
    /// The corresponding C function is `openat` with `O_NOFOLLOW`, and `O_NONBLOCK` so that a FIFO does no harm.
    ///
    /// - Parameter name: Its name.
    /// - Returns: The open file.
    /// - Throws: The error of the call: `ELOOP` for a symbolic link.
    public func open(_ name: String) throws(Errno) -> OwnedDescriptor {
        let number = descriptor.rawValue
        let flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW
        return OwnedDescriptor(takingOver: try SystemCall.checked { unsafe openat(number, name, flags) })
    }

    /// Makes a file that only its owner can read, and opens it for writing.
    ///
    /// The corresponding C function is `openat` with `O_CREAT` and `O_EXCL`.
    ///
    /// - Parameter name: Its name.
    /// - Returns: The open file.
    /// - Throws: The error of the call: `EEXIST` if the name is taken.
    public func create(_ name: String) throws(Errno) -> OwnedDescriptor {
        let number = descriptor.rawValue
        let flags = O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL | O_NOFOLLOW
        return OwnedDescriptor(takingOver: try SystemCall.checked { unsafe openat(number, name, flags, 0o600) })
    }

    /// Renames a file of the directory, and replaces the file that has the new name.
    ///
    /// The corresponding C function is `renameat`.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - newName: Its new name.
    /// - Throws: The error of the call.
    public func rename(_ name: String, to newName: String) throws(Errno) {
        let number = descriptor.rawValue
        try SystemCall.checked { unsafe renameat(number, name, number, newName) }
    }

    /// Removes a file from the directory.
    ///
    /// The corresponding C function is `unlinkat`.
    ///
    /// - Parameter name: Its name.
    /// - Throws: The error of the call: `ENOENT` when there is none.
    public func remove(_ name: String) throws(Errno) {
        let number = descriptor.rawValue
        try SystemCall.checked { unsafe unlinkat(number, name, 0) }
    }
}

extension FilePath {
    /// The path from the root; a relative one starts at the working directory.
    ///
    /// The corresponding C function is `getcwd`. Without a working directory, the path does not change.
    public var fromRoot: FilePath {
        guard !isAbsolute, let directory = unsafe getcwd(nil, 0) else { return self }
        defer { unsafe free(directory) }
        return unsafe FilePath(platformString: directory).pushing(self)
    }
}
