extension CrashReport {
    /// How often something took how long, in steps of 1, 2 and 5.
    package struct Histogram: Codable, Sendable, Hashable {
        /// How often it was in one step.
        package struct Step: Codable, Sendable, Hashable {
            /// The upper bound of the step in seconds, which belongs to it; nil for what is longer than all bounds.
            package var upTo: Double?
            /// How often.
            package var count: Int

            /// Makes a step.
            ///
            /// - Parameters:
            ///   - upTo: The upper bound of the step in seconds; nil for what is longer than all bounds.
            ///   - count: How often.
            package init(upTo: Double?, count: Int) {
                self.upTo = upTo
                self.count = count
            }
        }

        /// The bounds of the steps, in seconds: from 10 us to 5,000 s.
        package static let bounds: [Double] = (-5...3).flatMap { power -> [Double] in
            // Divided, where that gives the number next to the decimal one.
            let unit = (0..<abs(power)).reduce(1.0) { unit, _ in unit * 10 }
            return [1, 2, 5].map { power < 0 ? $0 / unit : $0 * unit }
        }

        /// The steps that were met, the shortest first.
        package private(set) var steps: [Step]

        /// Makes one of steps.
        ///
        /// - Parameter steps: The steps, in any order.
        package init(steps: [Step] = []) {
            self.steps = Self.merged(steps)
        }

        /// Reads one; steps of the same bound are put together, and those without an entry are left out.
        ///
        /// - Parameter decoder: Gives a list of steps.
        /// - Throws: `DecodingError`.
        package init(from decoder: any Decoder) throws {
            self.init(steps: try [Step](from: decoder))
        }

        /// Writes the list of its steps.
        ///
        /// - Parameter encoder: Takes the list.
        /// - Throws: Errors of the encoder.
        package func encode(to encoder: any Encoder) throws {
            try steps.encode(to: encoder)
        }

        /// How many entries there are.
        package var count: Int { steps.reduce(0) { $0.addingClamped($1.count) } }

        /// Adds an entry.
        ///
        /// - Parameter seconds: How long it took.
        package mutating func add(seconds: Double) {
            steps = Self.merged(steps + [Step(upTo: Self.bounds.first { seconds <= $0 }, count: 1)])
        }

        /// Adds all entries of another.
        ///
        /// - Parameter other: The other one.
        package mutating func add(_ other: Histogram) {
            steps = Self.merged(steps + other.steps)
        }

        /// In order, each bound once: a file may have any number of them.
        private static func merged(_ steps: [Step]) -> [Step] {
            let sorted = steps.filter { $0.count > 0 }.sorted { $0.upTo ?? .infinity < $1.upTo ?? .infinity }
            return sorted.reduce(into: []) { merged, step in
                if let last = merged.last, last.upTo == step.upTo {
                    merged[merged.count - 1].count = last.count.addingClamped(step.count)
                } else {
                    merged.append(step)
                }
            }
        }
    }
}

extension CrashReport.Stall {
    /// How regularly a loop ticked.
    package struct Ticks: Codable, Sendable, Hashable {
        /// Ticks that came.
        package var count = 0
        /// Ticks that did not come, because the one before was too late.
        package var missed = 0
        /// How late they came.
        package var lateness = CrashReport.Histogram()
        /// Which part of the ticks came, from 0 to 1: 1 is smooth.
        package var smoothness = 0.0
        /// For how many milliseconds of each second the loop held ticks up.
        package var hitchRatio = 0.0
    }
}

extension CrashReport.Stall.Ticks {
    /// Nothing was measured.
    package static var unmeasured: Self { Self() }
}
