package import CrashCapture
internal import CrashReports
public import RunLoops

/// Something that should have gone on and did not.
public struct Stall: Sendable {
    /// What stalls.
    package enum Subject: Sendable {
        /// A loop: it did not look for events.
        case loop(HostRunLoop)
        /// What is pinged, by its label: it did not answer.
        case ping(String)
    }

    /// What is known of how it goes on.
    public enum Phase: Sendable, Hashable {
        /// It lasts.
        case lasting
        /// It is over.
        case over
    }

    /// Which stall of the process it is, from 1.
    package let number: UInt64
    /// What stalls.
    package let subject: Subject
    /// Whether it lasts.
    public package(set) var phase: Phase
    /// When it was first seen: at its beginning, or up to one look of its rule later.
    public let begin: HostRunLoop.Instant
    /// How long it lasts so far, or took: without the time during which the process stood still.
    public package(set) var length: Duration
    /// What made it a stall.
    package let rule: StallRule
    /// Where the loop's thread was just after the stall was found: its calls, its callout, the system call that it waits in.
    ///
    /// Nil for what is pinged, once the stall is over, and in a process that has no host (`CrashCapture.look(at:within:)`).
    package var look: ThreadLook?
    /// The thread that stalls, as gettid(2) has it; nil as soon as it goes on, and where it is not known.
    ///
    /// Callable from any thread.
    package let thread: @Sendable () -> CInt?
    /// Whether it lasts still.
    ///
    /// Callable from any thread.
    package let isLasting: @Sendable () -> Bool
    /// Which callout its loop is in: its number, which no other callout of the loop has, and the item, 0 for none.
    ///
    /// Nil while that changes, and for what is pinged. Callable from any thread.
    package let callout: @Sendable () -> (number: UInt64, item: UInt64)?
    /// When it ended; nil while it lasts, and where that was not noted.
    ///
    /// Callable from any thread.
    package let end: @Sendable () -> HostRunLoop.Instant?
}

extension Stall {
    /// What the thread of the loop did when the stall was found, in words, such as `sleeping in read`; nil where that is not known.
    public var activity: String? { look?.activity }

    /// The loop that stalls: it did not look for events; nil for what is pinged.
    public var loop: HostRunLoop? { if case .loop(let loop) = subject { loop } else { nil } }

    /// The label of what is pinged and did not answer; nil for a loop.
    public var ping: String? { if case .ping(let label) = subject { label } else { nil } }

    /// The label of the item whose callout it is; nil where that is not known.
    public var item: String? { look?.callout?.label }

    /// Looks at the thread that stalls.
    ///
    /// On any thread but the one that stalls.
    ///
    /// - Returns: Nil if it went on meanwhile: then it was seen elsewhere.
    package func lookNow() -> ThreadLook? {
        guard let thread = thread(), let look = CrashCapture.look(at: thread), self.thread() == thread else {
            return nil
        }
        return look
    }
}

extension ThreadLook {
    /// What the thread did, in words: `running`, or `sleeping in clock_nanosleep`; nil if that is not known.
    package var activity: String? {
        let state: String? =
            switch self.state {
            case "R": "running"
            case "S", "I": "sleeping"
            case "D": "waiting for a disk"
            case "T", "t": "stopped"
            default: nil
            }
        guard let state, let systemCall, self.state != "R" else { return state }
        let name = SystemCallNames.name(systemCall)
        return "\(state) in \(name ?? "system call \(systemCall)")"
    }
}
