internal import Glibc
internal import LinuxSystem
public import RunLoops
public import SystemPackage

/// Tells what happens to a file or a directory, by inotify(7).
///
/// A path is watched by its name, through its directory and through those of the symbolic links that lead to it: a file that is replaced,
/// or a link that is led elsewhere, is watched further, and one that does not exist yet is told of when it is created. In a directory, its
/// entries are watched, and not what is below them. The loop holds the watcher until `close()`. Everything here is to be used on the
/// thread of its loop.
public final class FileWatcher: @unchecked Sendable {
    /// Something that happened.
    public struct Change: Sendable, Hashable {
        /// What can happen.
        public enum Kind: Sendable, Hashable {
            /// It was made, or a link leads to it now where nothing was before.
            case created
            /// Its content changed, or a link leads to another file now. Several changes may be told as one.
            case changed
            /// It is no more.
            case removed
            /// It was renamed to something else.
            case renamedFrom
            /// Something else was renamed to it: it is new, or replaced.
            case renamedTo
            /// Its permissions, owner, times or links changed.
            case attributes
            /// The kernel has dropped changes: look at everything again.
            case overflow
        }

        /// What happened.
        public let kind: Kind
        /// To what in the watched directory; `nil` for the path itself.
        public let name: FilePath.Component?
    }

    /// What is watched.
    package let path: String
    /// The loop that tells of changes.
    package let loop: HostRunLoop

    private let descriptor: CInt
    private let absolute: FilePath
    private var places: WatchedPlaces
    private var source: HostRunLoop.PortSource?
    private var handler: (@Sendable (FileWatcher, Change) -> Void)?
    /// What was read and not told.
    private var pending: [Change] = []

    /// Begins to watch; nothing that happens from here on is missed.
    ///
    /// - Parameters:
    ///   - path: A file or a directory; a file may not exist yet, but its directory must.
    ///   - loop: The loop that tells of changes.
    /// - Throws: `IOError`; where a limit of inotify is reached, it names the sysctl.
    public init(_ path: String, on loop: HostRunLoop = .main) throws(IOError) {
        self.path = path
        self.loop = loop
        absolute = try Self.absolute(FilePath(path))
        let descriptor = inotify_init1(CInt(IN_CLOEXEC | IN_NONBLOCK))
        guard descriptor >= 0 else {
            let error = Errno(rawValue: errno)
            let hint = error == .tooManyOpenFiles ? " (sysctl fs.inotify.max_user_instances, or RLIMIT_NOFILE)" : ""
            throw IOError("watch \(path)\(hint)", error)
        }
        self.descriptor = descriptor
        do throws(IOError) {
            places = try WatchedPlaces(of: absolute, by: descriptor)
            if let missing = places.missing { throw IOError("watch \(path): \(missing)", .noSuchFileOrDirectory) }
        } catch {
            _ = Glibc.close(descriptor)
            throw error
        }
        do throws(IOError) {
            let queue = FileDescriptor(rawValue: descriptor)
            source = try loop.serve(
                .init(label: "watcher of \(path)", descriptor: queue, interest: []) { [self] _, _ in read() },
                for: "watch \(path)"
            )
        } catch {
            _ = Glibc.close(descriptor)
            throw error
        }
    }

    /// Sets what is called with each change, in the order in which they happened.
    ///
    /// - Parameter handler: Called on the loop's thread.
    public func onChange(
        @_inheritActorContext _ handler: @escaping @Sendable @isolated(any) (FileWatcher, Change) -> Void
    ) {
        loop.require(handler.isolation, for: "watcher of \(path)")
        requireLoop()
        self.handler = Plain.change(handler)
        settle()
        // What a task had not asked for.
        if !pending.isEmpty { loop.perform(label: "watcher of \(path)") { [self] in tell() } }
    }

    /// Stops watching, for good.
    public func close() {
        requireLoop()
        guard let source else { return }
        self.source = nil
        source.invalidate()
        _ = Glibc.close(descriptor)
        handler = nil
        pending = []
    }

    private static func absolute(_ path: FilePath) throws(IOError) -> FilePath {
        guard path.isRelative else { return path }
        guard let directory = unsafe getcwd(nil, 0) else { throw IOError("watch \(path)", Errno(rawValue: errno)) }
        defer { unsafe free(directory) }
        return unsafe FilePath(platformString: directory).pushing(path)
    }

    private func requireLoop() {
        if !loop.isCurrent { fatalError("the watcher of \"\(path)\" is to be used on the thread of its loop only") }
    }

    private func settle() {
        let interest: HostRunLoop.PortSource.Interest = handler != nil ? .readable : []
        if let source, source.interest != interest { source.interest = interest }
    }

    // MARK: Reading

    private func read() {
        var bytes = [UInt8](repeating: 0, count: 16 * 1024)
        let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
        if count > 0 {
            for event in unsafe bytes.withUnsafeBytes({ unsafe InotifyEvent.decode(.init(rebasing: $0[..<count])) }) {
                take(event)
            }
        }
        tell()
        settle()
    }

    private func tell() {
        while source != nil, !pending.isEmpty, let handler { handler(self, pending.removeFirst()) }
    }

    private func take(_ event: InotifyEvent) {
        if event.mask & UInt32(IN_Q_OVERFLOW) != 0 {
            resolve()
            return note(.overflow, nil)
        }
        // One that is not watched any more may have left events.
        guard let directory = places.directories[event.watch] else { return }
        guard let name = event.name else {
            // The path itself is told of by the directory that it is in.
            return event.mask & UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT) != 0 ? lookAgain() : ()
        }
        let role = directory.names[name]
        if role == .link {
            let moves = UInt32(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
            if event.mask & moves != 0 { lookAgain() }
        } else if role == .path, let kind = Self.kind(event.mask) {
            note(kind, nil)
            if kind != .changed, kind != .attributes { resolve() }
        }
        if directory.isPath, let kind = Self.kind(event.mask) { note(kind, name) }
    }

    private static func kind(_ mask: UInt32) -> Change.Kind? {
        if mask & UInt32(IN_CREATE) != 0 { return .created }
        if mask & UInt32(IN_MODIFY | IN_CLOSE_WRITE) != 0 { return .changed }
        if mask & UInt32(IN_DELETE) != 0 { return .removed }
        if mask & UInt32(IN_MOVED_FROM) != 0 { return .renamedFrom }
        if mask & UInt32(IN_MOVED_TO) != 0 { return .renamedTo }
        return mask & UInt32(IN_ATTRIB) != 0 ? .attributes : nil
    }

    /// Several changes of content, or of attributes, that were not told yet are one.
    private func note(_ kind: Change.Kind, _ name: FilePath.Component?) {
        let change = Change(kind: kind, name: name)
        if kind == .changed || kind == .attributes, pending.last(where: { $0.name == name }) == change { return }
        pending.append(change)
    }

    /// Tells where the path leads now, after something on the way to it changed.
    private func lookAgain() {
        let existed = places.exists
        resolve()
        switch (existed, places.exists) {
        case (false, false): break
        case (false, true): note(.created, nil)
        case (true, false): note(.removed, nil)
        case (true, true): note(.changed, nil)
        }
    }

    /// Watches what leads to the path now, and nothing else.
    private func resolve() {
        // It fails where a directory went between two calls, so it is tried again, or at a limit: then what was watched goes on.
        var found: WatchedPlaces?
        for _ in 0..<8 where found == nil { found = try? WatchedPlaces(of: absolute, by: descriptor) }
        guard let now = found else { return places.note(exists: false) }
        for watch in places.directories.keys where now.directories[watch] == nil {
            _ = inotify_rm_watch(descriptor, watch)
        }
        places = now
    }
}
