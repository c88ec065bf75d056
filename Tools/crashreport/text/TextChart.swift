package import CrashReports

extension StyledText {
    private static let eighths: [Character] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"]

    /// Adds a line for each number: its label, itself, and a bar.
    mutating func chart(_ lines: [(label: String, count: Int)], indent: String = "", widest: Int = 40) {
        let largest = lines.map(\.count).max() ?? 0
        let labelWidth = min(40, lines.map(\.label.count).max() ?? 0)
        let digits = String(largest).count
        let room = min(widest, max(4, (layout.width ?? 100) - indent.count - labelWidth - digits - 4))
        for line in lines {
            add(indent + line.label.padded(labelWidth) + "  ", .faint)
            add(String(line.count).leftPadded(digits) + "  ")
            end(bar(line.count, of: largest, width: room), .cyan)
        }
    }

    /// Draws a number as a bar; one that is not zero has some length.
    private func bar(_ value: Int, of largest: Int, width: Int) -> String {
        guard value > 0, largest > 0, width > 0 else { return "" }
        let length = min(1, Double(value) / Double(largest)) * Double(width)
        guard layout.isUnicode else { return String(repeating: "#", count: max(1, Int(length.rounded()))) }
        let parts = max(1, Int((length * 8).rounded()))
        let rest = parts % 8
        return String(repeating: "█", count: parts / 8) + (rest == 0 ? "" : String(Self.eighths[rest - 1]))
    }
}

extension CrashReport.Histogram {
    /// More lines than the steps that are ever written.
    private static let mostLines = 40

    /// The steps in words, such as `up to 500 ms`, the shortest first, with those in between that were not met.
    package var lines: [(label: String, count: Int)] {
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
            return (label, step.count)
        }
    }

    private static var longest: String { CrashReport.Stall.text(seconds: bounds.last ?? 0) }
}
