internal import Glibc

/// A regular file that is open for reading, shared by who reads it at offsets of their own.
package final class OpenedFile: Sendable {
    /// Why a file was not opened.
    enum Problem: Error {
        /// There is none, or none that this process may ever read.
        case absent
        /// It could not be opened now: no descriptor is left, a filter refuses it, the disk fails.
        case unreadable
    }

    let descriptor: CInt
    private let device: dev_t
    private let inode: ino_t

    /// Opens a file.
    ///
    /// - Parameter path: The file; anything but a regular one is refused without blocking.
    /// - Throws: `Problem`.
    init(path: String) throws(Problem) {
        // A path with a NUL names another file to the kernel. O_NONBLOCK: opening a FIFO would wait for a writer.
        guard !path.utf8.contains(0) else { throw .absent }
        let descriptor = unsafe open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw [ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EACCES].contains(errno) ? .absent : .unreadable
        }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw .absent
        }
        self.descriptor = descriptor
        device = status.st_dev
        inode = status.st_ino
    }

    deinit {
        // What somebody closed for us may be theirs by now.
        if isIntact { close(descriptor) }
    }

    /// Which file it is, its size, and when it was changed; nil where that cannot be told.
    var identity: String? {
        var status = stat()
        guard isIntact, unsafe fstat(descriptor, &status) == 0 else { return nil }
        let times = [status.st_mtim, status.st_ctim].map { " \($0.tv_sec) \($0.tv_nsec)" }
        return "\(status.st_dev) \(status.st_ino) \(status.st_size)" + times[0] + times[1]
    }

    /// Whether the descriptor still is this file's: programs close what they do not know (`closefrom`).
    var isIntact: Bool {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 && status.st_dev == device && status.st_ino == inode
    }
}

/// The file of the running program, opened once: later there may be no descriptor left, or no way to it.
///
/// For use from one thread at a time.
package final class ProgramFile {
    package let path: String
    private var file: OpenedFile?
    private var reserve: OpenedFile?

    /// Opens a file; where that fails, it is tried again when it is needed.
    package init(path: String) {
        self.path = path
        file = try? OpenedFile(path: path)
    }

    /// Whether the file has debug information; false where it cannot be read now.
    package var hasDebugInformation: Bool {
        opened().flatMap { ELFFile($0, path: path) }?.hasDebugInformation ?? false
    }

    /// Keeps a descriptor, so that one is free when it is needed.
    package func reserveDescriptor() { reserve = try? OpenedFile(path: path) }

    /// Frees the descriptor that was kept, if one was.
    package func releaseReserve() { reserve = nil }

    /// The file; nil where it cannot be opened now either.
    package func opened() -> OpenedFile? {
        if file?.isIntact != true { file = try? OpenedFile(path: path) }
        return file
    }
}
