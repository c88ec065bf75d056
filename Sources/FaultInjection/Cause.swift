/// Whatever can be committed on purpose: a fault or a hazard.
public enum Cause: Sendable, Hashable, CaseIterable {
    /// What is known of one.
    typealias Facts = (summary: String, signal: CInt, commit: () -> Void)

    /// A fault.
    case fault(Fault)
    /// A hazard.
    case hazard(Hazard)

    /// All faults, then all hazards.
    public static var allCases: [Cause] {
        Fault.allCases.map(Cause.fault) + Hazard.allCases.map(Cause.hazard)
    }

    /// Finds the one of a name.
    public init?(name: String) {
        if let fault = Fault(rawValue: name) {
            self = .fault(fault)
        } else if let hazard = Hazard(rawValue: name) {
            self = .hazard(hazard)
        } else {
            return nil
        }
    }

    /// Its name on command lines.
    public var name: String {
        switch self {
        case .fault(let fault): fault.rawValue
        case .hazard(let hazard): hazard.rawValue
        }
    }

    /// One line that says what it does and how it is signalled.
    public var summary: String {
        switch self {
        case .fault(let fault): fault.summary
        case .hazard(let hazard): hazard.summary
        }
    }

    /// The number of the signal that it ends in, on x86-64.
    public var signal: CInt {
        switch self {
        case .fault(let fault): fault.signal
        case .hazard(let hazard): hazard.signal
        }
    }

    /// The name of the function that commits it, without module and parameters.
    public var functionName: String {
        let words = name.split(separator: "-").map { $0.prefix(1).uppercased() + $0.dropFirst() }
        return "fault" + words.joined()
    }

    /// Commits it on the calling thread.
    @inline(never)
    public func commit() {
        switch self {
        case .fault(let fault): fault.commit()
        case .hazard(let hazard): hazard.commit()
        }
    }
}
