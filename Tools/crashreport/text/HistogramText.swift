package import CrashReports

/// A histogram as lines of text, a step each.
struct HistogramText {
    private let histogram: CrashReport.Histogram

    init(_ histogram: CrashReport.Histogram) {
        self.histogram = histogram
    }

    /// Writes a line for each step; those in between that were not met have one, too.
    func write(to output: inout StyledText) {
        let lines = histogram.lines
        let largest = lines.map(\.count).max() ?? 0
        let labelWidth = min(40, lines.map(\.label.count).max() ?? 0)
        let digits = String(largest).count
        let room = min(40, max(4, (output.layout.width ?? 100) - labelWidth - digits - 6))
        for line in lines {
            output.add("  " + line.label.padded(labelWidth) + "  ", .faint)
            output.add(String(line.count).leftPadded(digits) + "  ")
            output.end(TextChart.bar(line.count, of: largest, width: room, output.layout), .cyan)
        }
    }
}

extension CrashReport.Histogram {
    /// A step in words.
    package struct Line: Sendable, Hashable {
        /// Its upper bound, such as `up to 500 ms`.
        package var label: String
        /// How often.
        package var count: Int
    }

    /// More lines than the steps that are ever written.
    private static let mostLines = 40

    /// The steps in words, the shortest first, with those in between that were not met.
    package var lines: [Line] {
        guard let first = steps.first else { return [] }
        let last = steps.last?.upTo ?? .infinity
        let between = Self.bounds.filter { bound in
            bound > first.upTo ?? .infinity && bound < last && !steps.contains { $0.upTo == bound }
        }
        // Beyond the last bound that was met, a gap would say nothing.
        let highest = steps.compactMap(\.upTo).max() ?? 0
        let all = (steps.prefix(Self.mostLines) + between.filter { $0 < highest }.map { Step(upTo: $0, count: 0) })
            .sorted { $0.upTo ?? .infinity < $1.upTo ?? .infinity }
        return all.prefix(Self.mostLines).map { step in
            let label =
                step.upTo.map { "up to \(CrashReport.Stall.text(seconds: $0))" } ?? "longer than \(Self.longest)"
            return Line(label: label, count: step.count)
        }
    }

    private static var longest: String { CrashReport.Stall.text(seconds: bounds.last ?? 0) }
}
