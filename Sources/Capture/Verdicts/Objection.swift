extension RecoveryPolicy {
    /// A rule of the agent, which can deny faults that every other rule would resume, and never the reverse.
    ///
    /// Called on the crash thread while the thread that faulted is parked. That thread may hold any lock, even the heap's. So the rule must
    /// not allocate, lock, print or call the supervisor. Atomics and reads of what never changes are safe. If it blocks all the same, the
    /// deadline passes and nothing is resumed. When it is set, it is called once with a made-up fault whose number is 0, so that types are
    /// looked up beforehand; that answer is ignored.
    ///
    /// Closures cannot be compared: an objection is equal to its copies, and to no other.
    package struct Objection: Sendable, Hashable {
        private final class Body: Sendable {
            let call: @Sendable (FaultSummary) -> StaticString?

            init(_ call: @escaping @Sendable (FaultSummary) -> StaticString?) {
                self.call = call
            }
        }

        private let body: Body

        /// Makes an objection.
        ///
        /// - Parameter body: Returns a reason not to resume the fault, a literal of less than 192 bytes; or nil.
        package init(_ body: @escaping @Sendable (FaultSummary) -> StaticString?) {
            self.body = Body(body)
        }

        package func callAsFunction(_ fault: FaultSummary) -> StaticString? {
            body.call(fault)
        }

        /// Tells whether one is a copy of the other.
        ///
        /// - Parameters:
        ///   - left: An objection.
        ///   - right: Another one.
        /// - Returns: Whether both were made by the same call of `init`.
        package static func == (left: Objection, right: Objection) -> Bool {
            left.body === right.body
        }

        /// Hashes its identity.
        ///
        /// - Parameter hasher: Takes it.
        package func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(body))
        }
    }
}
