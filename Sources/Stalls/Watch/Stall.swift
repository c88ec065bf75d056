package import CrashCapture
internal import CrashReports
internal import LinuxSystem
public import RunLoops

/// A period in which a loop or a queue made no progress.
public struct Stall: Sendable {
    /// What stalls.
    package enum Subject: Sendable {
        /// A loop: it did not look for events.
        case loop(HostRunLoop)
        /// A ping, by its label: it was not answered.
        case ping(String)
        /// A job of a task: it kept its thread.
        case job
    }

    /// Whether a stall is still going on.
    public enum Phase: Sendable, Hashable {
        /// The stall lasts.
        case lasting
        /// The stall is over.
        case over
    }

    /// The number of the stall in this process, from 1.
    package let number: UInt64
    /// What stalls.
    package let subject: Subject
    /// Whether the stall lasts.
    public package(set) var phase: Phase
    /// When it was first seen: up to one interval of its rule after it began.
    public let begin: HostRunLoop.Instant
    /// How long it has lasted so far, or lasted in all, without time during which the process was stopped.
    public package(set) var length: Duration
    /// The rule that made it a stall.
    package let rule: StallRule
    /// A look at the loop's thread just after the stall was found: its stack, its callout and the system call in which it waits.
    ///
    /// Nil for a ping, once the stall is over, and in a process without a host (`CrashCapture.look(at:within:)`).
    package var look: ThreadLook?
    /// The stalled thread's gettid(2); nil once it continues, or if unknown.
    ///
    /// Callable from any thread.
    package let thread: @Sendable () -> CInt?
    /// Whether the stall still lasts.
    ///
    /// Callable from any thread.
    package let isLasting: @Sendable () -> Bool
    /// The loop's current callout: its number, unique within the loop, and its item, or 0 for none.
    ///
    /// Nil while the callout changes, and for a ping. Callable from any thread.
    package let callout: @Sendable () -> (number: UInt64, item: UInt64)?
    /// When it ended; nil while it lasts, or if the end was not noted.
    ///
    /// Callable from any thread.
    package let end: @Sendable () -> HostRunLoop.Instant?
}

extension Stall {
    /// What the loop's thread was doing when the stall was found, such as `sleeping in read`; nil if unknown.
    public var activity: String? { look?.activity }

    /// The loop that stalls; nil for a ping.
    public var loop: HostRunLoop? { if case .loop(let loop) = subject { loop } else { nil } }

    /// The label of the ping that was not answered; nil for a loop.
    public var ping: String? { if case .ping(let label) = subject { label } else { nil } }

    /// The label of the item whose callout stalls; nil if unknown.
    public var item: String? { look?.callout?.label }

    /// Looks at the stalled thread.
    ///
    /// Callable from any thread but the stalled one.
    ///
    /// - Returns: Nil if the thread continued meanwhile, because the look then shows something else.
    package func lookNow() -> ThreadLook? {
        guard let thread = thread(), let look = CrashCapture.look(at: thread), self.thread() == thread else {
            return nil
        }
        return look
    }
}

extension ThreadLook {
    /// What the thread was doing: `running`, or `sleeping in clock_nanosleep`; nil if unknown.
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
