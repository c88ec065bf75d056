extension FaultRecord {
    /// Makes what a record of a stall would be: nothing faulted, so no handler wrote one.
    ///
    /// - Parameters:
    ///   - number: Which stall of the process it is.
    ///   - time: When it began.
    ///   - uptimeNanoseconds: How long the process had run when it was found.
    ///   - thread: The thread that stalled, as gettid(2) has it; 0 if it is not known.
    ///   - isMainThread: Whether that is the main one.
    package init(stall number: Int, time: Timestamp, uptimeNanoseconds: Int64, thread: Int, isMainThread: Bool) {
        self.init(stage: .decided)
        self.number = number
        self.time = time
        self.uptimeNanoseconds = uptimeNanoseconds
        self.thread = thread
        facts = isMainThread ? [.mainThread, .walkComplete] : .walkComplete
        verdict = .wait
    }

    /// Whether it stands for a stall: no handler wrote it, so that registers and context of a fault are not missing.
    package var isOfStall: Bool { verdict == .wait }

    /// Adds the other threads.
    ///
    /// - Parameters:
    ///   - threads: What was seen of them.
    ///   - omitted: How many more there were.
    package mutating func attach(threads: [ThreadSnapshot.Thread], omitted: Int) {
        self.threads = ThreadSnapshot(faultNumber: number, threads: threads, omitted: omitted, isStopped: false)
    }
}

extension ThreadSnapshot.Thread {
    /// Makes what was seen of a thread while nothing had faulted.
    ///
    /// - Parameters:
    ///   - id: The thread's id.
    ///   - name: Its name, "" for none.
    ///   - outcome: What is known of its stack.
    ///   - kernelState: The letter of its state (proc_pid_stat(5)).
    ///   - systemCall: The number of the system call that it was in.
    ///   - sampledAfter: How long after the beginning this was taken, in seconds.
    ///   - frames: Program counters, innermost first.
    ///   - headFrameCount: How many of `frames` are the innermost ones.
    ///   - framesOmitted: How many frames lie between the head and the tail.
    package init(
        id: Int,
        name: String,
        outcome: Outcome,
        kernelState: Unicode.Scalar?,
        systemCall: Int?,
        sampledAfter: Double,
        frames: [UInt64],
        headFrameCount: Int,
        framesOmitted: Int
    ) {
        self.id = id
        self.name = name
        self.outcome = outcome
        self.kernelState = kernelState
        self.systemCall = systemCall
        self.sampledAfter = sampledAfter
        stackPointer = 0
        framePointer = 0
        self.frames = frames
        self.headFrameCount = headFrameCount
        self.framesOmitted = framesOmitted
    }
}
