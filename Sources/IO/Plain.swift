internal import RunLoops

/// Closures as they are kept and called here: as ordinary functions, after `HostRunLoop.require(_:for:)` has checked whose they are.
///
/// As in RunLoops: a closure with an isolation has the layout of one without, and the structures avoid thunks.
enum Plain {
    typealias Ending = Connection.Ending

    static func connection(
        _ closure: @escaping @Sendable @isolated(any) (Connection) -> Void
    ) -> @Sendable (Connection) -> Void {
        struct Isolated { let closure: @Sendable @isolated(any) (Connection) -> Void }
        struct Plain { let closure: @Sendable (Connection) -> Void }
        return unsafe unsafeBitCast(Isolated(closure: closure), to: Plain.self).closure
    }

    static func line(
        _ closure: @escaping @Sendable @isolated(any) (Connection, String) -> Void
    ) -> @Sendable (Connection, String) -> Void {
        struct Isolated { let closure: @Sendable @isolated(any) (Connection, String) -> Void }
        struct Plain { let closure: @Sendable (Connection, String) -> Void }
        return unsafe unsafeBitCast(Isolated(closure: closure), to: Plain.self).closure
    }

    static func bytes(
        _ closure: @escaping @Sendable @isolated(any) (Connection, [UInt8]) -> Void
    ) -> @Sendable (Connection, [UInt8]) -> Void {
        struct Isolated { let closure: @Sendable @isolated(any) (Connection, [UInt8]) -> Void }
        struct Plain { let closure: @Sendable (Connection, [UInt8]) -> Void }
        return unsafe unsafeBitCast(Isolated(closure: closure), to: Plain.self).closure
    }

    static func ending(
        _ closure: @escaping @Sendable @isolated(any) (Connection, Ending) -> Void
    ) -> @Sendable (Connection, Ending) -> Void {
        struct Isolated { let closure: @Sendable @isolated(any) (Connection, Ending) -> Void }
        struct Plain { let closure: @Sendable (Connection, Ending) -> Void }
        return unsafe unsafeBitCast(Isolated(closure: closure), to: Plain.self).closure
    }

    static func exit(
        _ closure: @escaping @Sendable @isolated(any) (ChildProcess, ChildProcess.Status) -> Void
    ) -> @Sendable (ChildProcess, ChildProcess.Status) -> Void {
        struct Isolated { let closure: @Sendable @isolated(any) (ChildProcess, ChildProcess.Status) -> Void }
        struct Plain { let closure: @Sendable (ChildProcess, ChildProcess.Status) -> Void }
        return unsafe unsafeBitCast(Isolated(closure: closure), to: Plain.self).closure
    }

    static func change(
        _ closure: @escaping @Sendable @isolated(any) (FileWatcher, FileWatcher.Change) -> Void
    ) -> @Sendable (FileWatcher, FileWatcher.Change) -> Void {
        struct Isolated { let closure: @Sendable @isolated(any) (FileWatcher, FileWatcher.Change) -> Void }
        struct Plain { let closure: @Sendable (FileWatcher, FileWatcher.Change) -> Void }
        return unsafe unsafeBitCast(Isolated(closure: closure), to: Plain.self).closure
    }
}
