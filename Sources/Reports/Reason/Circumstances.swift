/// What else to know before acting on a diagnosis: how often, after what, and what became of the process.
struct Circumstances {
    private let report: CrashReport
    private let fault: FaultClass

    init(_ report: CrashReport, _ fault: FaultClass) {
        self.report = report
        self.fault = fault
    }

    /// One sentence each; none for what needs no mention.
    var lines: [String] {
        [memory, descriptors, repetition, earlierFaults, unnamed, touched, quarantine, verdict].compactMap(\.self)
    }

    private var memory: String? {
        guard let memory = report.context?.memory else { return nil }
        let limit = report.context?.container?.memoryLimit ?? .max
        if limit > 0, limit < .max, Double(memory.resident) > 0.9 * Double(limit) {
            return "The process had almost all of the memory that its control group may have: that may be the cause."
        }
        guard let total = memory.systemTotal, let available = memory.systemAvailable, total > 0,
            Double(available) < 0.03 * Double(total)
        else { return nil }
        return "The machine was almost out of memory: that may be the cause."
    }

    private var descriptors: String? {
        guard let descriptors = report.context?.descriptors, let limit = descriptors.limit, limit > 0,
            Double(descriptors.open) > 0.95 * Double(limit)
        else { return nil }
        return
            "Nearly all descriptors were in use (\(descriptors.open) of \(limit)): files and connections fail to open then."
    }

    private var repetition: String? {
        let occurrences = report.occurrences
        guard occurrences.count > 1 else { return nil }
        let whom = report.loop?.callout.map { " from the \($0.words)" }
        return "It happened \(occurrences.count) times from \(occurrences.first) to \(occurrences.last)\(whom ?? ""): "
            + "whatever sets it off comes again and again."
    }

    private var earlierFaults: String? {
        guard let number = report.fault?.number, number > 1, report.process.isForkedChild != true else { return nil }
        if fault.isOfMemory {
            return "It was fault \(number) of this process: read the reports of the earlier ones first, "
                + "for what they left half done may be the cause."
        }
        return "It was fault \(number) of this process: `crashreport list` has the others."
    }

    private var unnamed: String? {
        guard !report.thread.frames.contains(where: { $0.isUserCode && $0.function != nil }),
            report.thread.frames.contains(where: { $0.image == 0 && $0.function == nil })
        else { return nil }
        return
            "The program has no names for its functions: `crashreport symbolicate` adds them where its debug file is."
    }

    private var touched: String? {
        guard let touched = report.recovery?.touched, !touched.isEmpty else { return nil }
        let names = touched.prefix(4).map(\.quotedBriefly).joined(separator: ", ")
        return "It was working on \(names), which may be half changed."
    }

    private var quarantine: String? {
        guard report.recovery?.quarantined == true else { return nil }
        let item = report.loop?.callout.map { "the \($0.words)" }
        return
            "It happened too often: \(item ?? "what faulted") is not called for a while (quarantine), then tried again."
    }

    private var verdict: String? {
        switch report.verdict.decision {
        case .resume:
            "The process went on: one callout was abandoned, and what it owned stays leaked until the process restarts."
        case .restart where report.recovery?.drained == true:
            "The process drained and restarted in place; requests that no drain handler waited for, and what it did not keep, are gone."
        case .restart: "The process restarted in place; connections and work that it did not keep are gone."
        // Its reason says what followed.
        case _ where report.kind == .death: nil
        case .terminate where report.death != nil: report.death.map { "Its supervisor said then: \($0.action)" }
        case .terminate: "The process ended: whoever supervises it has to start it again."
        default: nil
        }
    }
}

extension FaultClass {
    /// Whether an earlier fault may have left behind what this one stumbled over.
    var isOfMemory: Bool {
        switch self {
        case .doubleFree, .heapCorruption, .nullPointer, .nullCall, .badJump, .badObject, .nonCanonical, .readOnly,
            .badAddress, .unownedReference, .exclusivity:
            true
        default: false
        }
    }
}
