internal import LinuxSystem

/// The parts of a report that are about other threads and about memory.
extension ReportBuilder {
    /// The other threads, in the order in which the kernel lists them.
    func threads(_ threads: [ThreadSnapshot.Thread], in pid: Int) -> [CrashReport.Thread] {
        threads.map { thread in
            CrashReport.Thread(
                id: thread.id,
                name: thread.name.isEmpty ? nil : thread.name,
                isMain: thread.id == pid,
                frames: frames(of: thread),
                framesOmitted: thread.framesOmitted,
                framesTruncated: thread.outcome != .walked,
                registers: registers(of: thread),
                state: state(of: thread),
                systemCall: thread.systemCall.flatMap { SystemCallNames.name($0) },
                sampledAfter: max(0, thread.sampledAfter)
            )
        }
    }

    /// The calls of a thread that was looked at.
    func frames(of thread: ThreadSnapshot.Thread) -> [CrashReport.Frame] {
        frames(
            at: thread.frames,
            headCount: thread.headFrameCount,
            omitted: thread.framesOmitted,
            awaits: thread.awaits,
            after: thread.awaitPosition
        )
    }

    /// Those that tell where it is.
    private func registers(of thread: ThreadSnapshot.Thread) -> [String: HexAddress] {
        guard let place = thread.frames.first else { return [:] }
        var registers = ["rip": HexAddress(place)]
        // A look while nothing has faulted does not keep the others; no thread has a stack at zero.
        if thread.stackPointer != 0 {
            registers["rsp"] = HexAddress(thread.stackPointer)
            registers["rbp"] = HexAddress(thread.framePointer)
        }
        return registers
    }

    // proc_pid_stat(5)
    private func state(of thread: ThreadSnapshot.Thread) -> CrashReport.Thread.State? {
        switch thread.kernelState {
        case "R": .running
        case "S", "I": .sleeping
        case "D": .waitingForDisk
        case "T", "t": .stopped
        case "Z", "X", "x": .ended
        default: nil
        }
    }

    /// The code around the program counter.
    func instructions(of record: FaultRecord) -> CrashReport.MemoryBytes? {
        let code = record.codeBytes
        guard !code.from.isEmpty, let place = record.registers["rip"] else { return nil }
        return CrashReport.MemoryBytes(
            address: HexAddress(place &- UInt64(code.before.count)),
            bytes: HexDigits.text(code.before + code.from),
            about: "code"
        )
    }

    /// Memory that the process asked for; nil if there is none.
    func memory(of record: FaultRecord) -> [CrashReport.MemoryBytes]? {
        guard !record.memory.isEmpty else { return nil }
        let names = RegisterNames.all
        return record.memory.map { piece in
            let about =
                switch piece.about {
                case .stack: "stack"
                case .register(let index): names.indices.contains(index) ? names[index] : "register \(index)"
                }
            return CrashReport.MemoryBytes(
                address: HexAddress(piece.address),
                bytes: HexDigits.text(piece.bytes),
                about: about
            )
        }
    }

    /// What there is to say of other threads that are not in the report, or not as they should be.
    func notesOnThreads(of record: FaultRecord) -> [String] {
        // A record that was cut off says something else.
        guard let sampling = record.sampling, record.stage != .incomplete else { return [] }
        if record.facts.contains(.forkedChild) { return [] }
        let because: String
        switch sampling {
        case .done:
            // Its snapshot may be gone when many faults waited for their reports.
            if record.threads != nil { return [] }
            because = "what was seen of them was lost"
        case .interrupted: return ["some threads have no frames: the next fault came while they were sampled"]
        case .none where record.threads != nil: return ["the process ended while its other threads were sampled"]
        case .none: because = "nobody could look at them"
        case .off: because = "the process does not want it"
        case .tooSoon: because = "another fault had been resumed just before"
        case .noList: because = "they could not be listed"
        case .signalTaken: because = "the program uses SIGSTKFLT itself"
        case .traced: because = "a debugger held the process"
        case .noRoom: because = "too many faults waited for their reports"
        }
        return ["the other threads were not sampled: \(because)"]
    }
}
