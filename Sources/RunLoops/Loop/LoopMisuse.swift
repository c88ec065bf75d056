import Glibc
import LinuxSystem
import Synchronization

/// The messages of a run loop that is used in a way that cannot work.
///
/// The table of all cases is in Documentation/RunLoop.md.
enum Misuse {
    private static let isCommonModesRunNoted = Atomic<Bool>(false)

    /// Writes a line to standard error, once per process, as CFRunLoop does (CFRunLoop.c:3306).
    static func noteRunInCommonModes() {
        guard !isCommonModesRunNoted.exchange(true, ordering: .relaxed) else { return }
        let line =
            "RunLoops: a run in the common modes ends at once: they are a set of modes. "
            + "Run in one of them, such as .default. (Said once.)\n"
        let bytes = Array(line.utf8)
        // If that fails, there is nobody to tell.
        _ = try? SystemCall.checked { unsafe write(STDERR_FILENO, bytes, bytes.count) }
    }

    /// Ends the process because a forked child uses a loop of its parent.
    ///
    /// By `fatalError`, because `precondition` has no message in release builds.
    static func endProcessForInheritedLoop(_ use: StaticString) -> Never {
        fatalError(
            "a forked child cannot \(use) a run loop of its parent: exec first, "
                + "or use HostRunLoop.current, which is a new loop in the child"
        )
    }

    /// Ends the process because a loop is run by a thread that it does not belong to.
    static func endProcessForWrongThread() -> Never {
        fatalError(
            "a run loop can only be run on its own thread: run HostRunLoop.current there, "
                + "or hand this loop its work with perform(in:)"
        )
    }

    /// Ends the process because a closure of an actor is given to a loop on whose thread that actor's code does not run.
    static func endProcessForForeignActor(_ actor: any Actor, _ label: String, isMain: Bool) -> Never {
        let name = String(describing: type(of: actor))
        let thread = isMain ? "the main thread's loop" : "a loop of another thread"
        fatalError(
            "the closure \(DescriptionText.quoted(label)) belongs to \(name), because it was written in its code, and \(thread) "
                + "cannot call it: make it in a nonisolated function, or give it a type without an actor first, or in an actor whose unownedExecutor is that loop's"
                + (actor is MainActor ? ", or use HostRunLoop.main" : "")
        )
    }
}
