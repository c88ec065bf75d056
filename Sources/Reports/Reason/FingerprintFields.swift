/// What a fingerprint is made of: the rule of version 2.
struct FingerprintFields: Equatable {
    /// How many functions count where the caller is to blame: whose check it was, and who did not see to it.
    static let contractLimit = 2
    /// How many count where the program has no function or none with a name.
    static let foreignLimit = 5

    /// The kind of the report.
    let kind: String
    /// The class of the fault.
    let fault: String
    /// Functions, or places in images where no function is known.
    let functions: [String]

    /// All of it, in the order in which it counts.
    var all: [String] { [kind, fault] + functions }

    /// Takes from a report what counts.
    ///
    /// - Parameters:
    ///   - report: The report.
    ///   - limit: How many functions count in place of what the rule says, to compare rules.
    init(of report: CrashReport, limit: Int? = nil) {
        let fault = FaultClass(of: report)
        kind = report.kind.rawValue
        self.fault = fault.fingerprintName
        if fault == .stall {
            functions = Self.cause(of: report)
            return
        }
        if let death = report.death, report.kind == .death {
            functions = [StableText.of(death.program)]
            return
        }
        if fault == .deadline, let callout = report.loop?.callout, !callout.label.isEmpty {
            functions = Self.place(of: callout, in: report)
            return
        }
        let cycle = fault == .stackOverflow ? RecursionCycle(report.thread.frames) : nil
        // Where in a recursion the stack ends is chance, and so is who began it.
        let usual = fault.blamesCaller ? Self.contractLimit : 1
        functions = cycle?.stableNames ?? Self.functions(of: report, limit ?? usual)
    }

    /// What did not go on, and the function in which it was all the time: what that calls again and again is chance.
    private static func cause(of report: CrashReport) -> [String] {
        let callout = report.loop?.callout.map { "\($0.kind.rawValue) \(StableText.of($0.label))" }
        // A loop of a name has many callouts.
        let label = report.stall?.label.map { StableText.of($0) }
        let whole = [report.stall?.subject.rawValue, label, callout].compactMap(\.self)
        guard let culprit = report.stall?.profile?.culprit else { return whole }
        return whole + [culprit.function.map(StableName.of) ?? culprit.name]
    }

    private static func functions(of report: CrashReport, _ limit: Int) -> [String] {
        let frames = report.thread.frames.filter { $0.runtimeFailure == nil }
        let own = frames.filter { $0.isUserCode && $0.function != nil }
        if !own.isEmpty { return first(limit, of: StableName.functions(of: own)) + context(of: own, in: report) }
        // Of a program without symbols, the executable is the first image.
        let places = frames.lazy.filter { $0.image == 0 && $0.function == nil }.compactMap(\.imageLocation)
        if !places.isEmpty { return first(limit, of: places) }
        let others = first(foreignLimit, of: frames.lazy.compactMap { $0.function.map(StableName.of) })
        return others.isEmpty ? first(foreignLimit, of: frames.lazy.compactMap(\.imageLocation)) : others
    }

    /// What tells one callout that took too long from the others: where it used the processor when it was interrupted is chance, where
    /// it waited is not.
    private static func place(of callout: CrashReport.LoopState.Callout, in report: CrashReport) -> [String] {
        let isWaiting = report.thread.frames.first?.isUserCode == false
        return ["\(callout.kind.rawValue) \(StableText.of(callout.label))"]
            + (isWaiting ? functions(of: report, 1) : [])
    }

    /// What tells one closure of a function from the others, whose numbers change with the source.
    ///
    /// One that its function calls belongs to that function. One that was kept for later is known by what calls it: the loop's
    /// callout, by its label. Without a label, the number has to do.
    private static func context(of frames: [CrashReport.Frame], in report: CrashReport) -> [String] {
        guard let function = frames.first?.function, let parent = StableName.parent(ofClosure: function),
            !frames.contains(where: { StableName.of($0.function ?? "") == parent })
        else { return [] }
        guard let callout = report.loop?.callout, !callout.label.isEmpty else { return [function] }
        return ["\(callout.kind.rawValue) \(StableText.of(callout.label))"]
    }

    /// The innermost ones, each once.
    private static func first(_ limit: Int, of names: some Sequence<String>) -> [String] {
        var taken: [String] = []
        for name in names where !taken.contains(name) {
            taken.append(name)
            if taken.count == limit { break }
        }
        return taken
    }
}

extension FaultClass {
    /// Whether a function says that it was called wrongly.
    fileprivate var blamesCaller: Bool {
        switch self {
        case .precondition, .assertion, .cAssertion: true
        default: false
        }
    }
}
