internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// What inotify(7) has to watch, so that nothing that happens to a path is missed: each directory in which the path or a symbolic link on
/// the way to it has its name.
struct WatchedPlaces {
    /// What a name in a watched directory is.
    enum Role { case path, link }

    /// A directory that is watched.
    struct Directory {
        /// The names that matter.
        var names: [FilePath.Component: Role] = [:]
        /// Whether it is the path itself: then all names matter.
        var isPath = false
    }

    /// By watch descriptor.
    private(set) var directories: [CInt: Directory] = [:]
    /// Whether the path leads to something.
    private(set) var exists = false
    /// The directory on the way that is missing.
    private(set) var missing: FilePath?

    private static let mask = UInt32(
        IN_CREATE | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF
            | IN_MOVE_SELF | IN_ONLYDIR
    )

    /// Watches what leads to a path.
    ///
    /// - Parameters:
    ///   - path: An absolute path.
    ///   - descriptor: The inotify instance.
    /// - Throws: The error of a call: `ENOENT` where a directory on the way is missing.
    init(of path: FilePath, by descriptor: CInt) throws(IOError) {
        var (directory, rest, links) = (FilePath("/"), Array(path.components), 0)
        while !rest.isEmpty {
            let name = rest.removeFirst()
            switch name.kind {
            case .currentDirectory: continue
            case .parentDirectory:
                directory.removeLastComponent()
                continue
            case .regular: break
            }
            let place = directory.appending(name)
            // What is a directory is not watched for being replaced: nothing of it but its own end and renaming is told.
            let isLast = rest.isEmpty
            if !isLast, Self.isDirectory(Self.status(place)) {
                directory = place
                continue
            }
            // Watched before it is looked at: what changes in between is told.
            let watch = try Self.watch(directory, by: descriptor)
            directories[watch, default: Directory()].names[name] = isLast ? .path : .link
            guard let status = Self.status(place) else {
                missing = isLast ? nil : place
                return
            }
            if status.st_mode & S_IFMT == S_IFLNK {
                links += 1
                // As many as the kernel follows: path_resolution(7).
                guard links <= 40 else { throw IOError("watch \(path)", .tooManySymbolicLinkLevels) }
                directories[watch, default: Directory()].names[name] = .link
                let target = try Self.target(of: place)
                if target.isAbsolute { directory = FilePath("/") }
                rest = Array(target.components) + rest
                continue
            }
            directory = place
            if isLast, !Self.isDirectory(status) {
                exists = true
                return
            }
        }
        exists = true
        directories[try Self.watch(directory, by: descriptor), default: Directory()].isPath = true
    }

    /// Takes note that the path itself came or went.
    mutating func note(exists: Bool) { self.exists = exists }

    private static func watch(_ directory: FilePath, by descriptor: CInt) throws(IOError) -> CInt {
        let watch = unsafe directory.withPlatformString { unsafe inotify_add_watch(descriptor, $0, mask) }
        guard watch < 0 else { return watch }
        let error = Errno(rawValue: errno)
        let hint = error == .noSpace ? " (sysctl fs.inotify.max_user_watches)" : ""
        throw IOError("watch \(directory)\(hint)", error)
    }

    private static func status(_ path: FilePath) -> stat? {
        var status = stat()
        guard unsafe path.withPlatformString({ unsafe lstat($0, &status) }) == 0 else { return nil }
        return status
    }

    private static func isDirectory(_ status: stat?) -> Bool { status.map { $0.st_mode & S_IFMT == S_IFDIR } ?? false }

    private static func target(of link: FilePath) throws(IOError) -> FilePath {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let count = unsafe link.withPlatformString { unsafe readlink($0, &bytes, Int(PATH_MAX)) }
        guard count > 0 else { throw IOError("read the link \(link)", Errno(rawValue: errno)) }
        return unsafe bytes.withUnsafeBufferPointer {
            unsafe $0.baseAddress.map { unsafe FilePath(platformString: $0) }
        } ?? FilePath()
    }
}
