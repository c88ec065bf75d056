extension CrashReport {
    /// What was decided about the process.
    public struct Verdict: Codable, Sendable, Hashable {
        /// The decision.
        public var decision: Decision
        /// Why, in one plain line.
        public var reason: String

        /// Makes a verdict.
        ///
        /// - Parameters:
        ///   - decision: The decision.
        ///   - reason: Why, in one plain line.
        public init(decision: Decision, reason: String) {
            self.decision = decision
            self.reason = reason
        }
    }
}

extension CrashReport.Verdict {
    /// What happens to the process after a fault or in a stall.
    ///
    /// A value that this version does not know is kept as it is.
    public struct Decision: RawRepresentable, Codable, Sendable, Hashable {
        /// The value in JSON.
        public let rawValue: String

        /// Takes a value.
        ///
        /// - Parameter rawValue: The value in JSON.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The loop goes on.
        public static let resume = Decision(rawValue: "resume")
        /// The process restarts itself.
        public static let restart = Decision(rawValue: "restart")
        /// The process ends by the signal.
        public static let terminate = Decision(rawValue: "terminate")
        /// Nothing is done: for stalls, which may end by themselves.
        public static let wait = Decision(rawValue: "wait")
    }
}
