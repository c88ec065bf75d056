import SystemPackage

/// What the kernel knows of a thread of this process at a moment, without disturbing it.
///
/// A value is nil if its file cannot be read, or if this kernel does not have it.
public struct ThreadActivity: Sendable, Hashable {
    /// A letter of proc_pid_stat(5): `R` running or ready, `S` sleeping, `D` waiting for a device, `T` and `t` stopped.
    public var state: Character?
    /// The number of the system call that it is in; nil while it runs.
    public var systemCall: Int?
    /// The line of proc_pid_syscall(5): the system call, its arguments, the stack pointer and the program counter.
    public var systemCallLine: String?
    /// How often it has begun to wait for something, counted from its start (proc_pid_status(5)).
    public var voluntarySwitches: Int?
    /// For how long it was on a processor, in nanoseconds (Documentation/scheduler/sched-stats.rst of the kernel).
    public var runTime: Int64?
    /// For how long it was ready and waited for a processor, in nanoseconds.
    public var waitTime: Int64?

    /// Reads the thread's files in proc(5); not safe in a signal handler.
    ///
    /// - Parameter thread: The id of the thread (gettid(2)).
    public init(ofThread thread: Int32) {
        func text(_ name: String) -> String? {
            guard
                let file = try? OwnedDescriptor(
                    reading: FilePath("/proc/self/task/\(thread)/\(name)"),
                    followingLinks: true
                ),
                let bytes = try? file.readAll(limit: 8192), !bytes.isEmpty
            else { return nil }
            return String(decoding: bytes, as: UTF8.self)
        }
        self.init(stat: text("stat"), systemCall: text("syscall"), status: text("status"), schedule: text("schedstat"))
    }

    /// Takes the contents of the files.
    package init(stat: String?, systemCall: String?, status: String?, schedule: String?) {
        // The name in parentheses may have any character.
        state = stat?.split(separator: ")").last?.drop { $0 == " " }.first
        systemCallLine = systemCall.map { String($0.prefix { $0 != "\n" }) }
        let number = systemCallLine?.prefix { $0 != " " }
        self.systemCall = number.flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil }
        let switches = status?.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
        voluntarySwitches = switches?.split(separator: "\t").last.flatMap { Int($0) }
        let times = schedule?.split { $0 == " " || $0 == "\n" } ?? []
        runTime = times.first.flatMap { Int64($0) }
        waitTime = times.dropFirst().first.flatMap { Int64($0) }
    }

    /// Where it waits: its stack pointer and its program counter in the system call; nil while it runs.
    public var place: (stackPointer: UInt64, programCounter: UInt64)? {
        let words = systemCallLine?.split(separator: " ").suffix(2).compactMap { word in
            word.hasPrefix("0x") ? UInt64(word.dropFirst(2), radix: 16) : nil
        }
        guard let words, words.count == 2, systemCall != nil else { return nil }
        return (words[0], words[1])
    }

    /// Whether the thread has done nothing between two readings: it waits in the same call, and has not woken.
    ///
    /// - Parameter earlier: The earlier reading.
    /// - Returns: False if that is not known.
    public func isAsleep(since earlier: ThreadActivity) -> Bool {
        guard let state, "SD".contains(state), let line = systemCallLine, let voluntarySwitches else { return false }
        return earlier.state == state && earlier.systemCallLine == line
            && earlier.voluntarySwitches == voluntarySwitches
            && systemCall != nil
    }
}
