package import CrashReports

/// The profile of a stall as folded stacks: a line for each path, `outermost;…;innermost N`, N in milliseconds.
///
/// What `stackcollapse-*.pl` write, and `flamegraph.pl`, inferno and speedscope read. Names have spaces; a semicolon or a line
/// break in one would end it, so those are replaced.
package struct FoldedStacks: Sendable {
    /// Calls of a profile that are looked at; more than a report of ours has.
    private static let mostCalls = 2048
    /// Calls of a path; what is further inside counts for the last of them.
    private static let mostDepth = 256
    private static let longestName = 300

    private let report: CrashReport
    private let profile: CrashReport.Stall.Profile

    /// Takes a report.
    ///
    /// - Parameter report: The report; nil is made of one without a profile.
    package init?(_ report: CrashReport) {
        guard let profile = report.stall?.profile else { return nil }
        self.report = report
        self.profile = profile
    }

    /// Writes the lines.
    ///
    /// - Returns: UTF-8, a newline after each line; empty if no call took any time.
    package func bytes() -> [UInt8] {
        let rows = profile.rows.prefix(Self.mostCalls)
        // What is above the calls: the program, and what was called.
        let start = [report.process.name, origin].compactMap(\.self).map(Self.name)
        var path: [String] = []
        var lines: [(path: String, seconds: Double)] = []
        var places: [String: Int] = [:]
        for row in rows {
            path.removeSubrange(min(row.depth, path.count)...)
            if path.count < Self.mostDepth { path.append(Self.name(row.call.name)) }
            // What is left of a sum after its parts were taken away may be a trace of rounding.
            guard row.ownSeconds >= 1e-6, row.ownSeconds.isFinite else { continue }
            let text = (start + path).joined(separator: ";")
            if let place = places[text] {
                lines[place].seconds += row.ownSeconds
            } else {
                places[text] = lines.count
                lines.append((text, row.ownSeconds))
            }
        }
        return lines.flatMap { line in Array("\(line.path) \(Self.milliseconds(line.seconds))\n".utf8) }
    }

    /// What the loop was calling, or what was pinged.
    private var origin: String? {
        guard let callout = report.loop?.callout else { return report.stall?.label }
        return callout.label.isEmpty ? callout.kind.rawValue : "\(callout.kind.rawValue) \(callout.label)"
    }

    /// A name that is one element of a line.
    private static func name(_ text: String) -> String {
        let visible = TerminalText.visible(text.limited(to: longestName)).replacing(";", with: ",")
        let trimmed = visible.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
        return trimmed.isEmpty ? "?" : trimmed
    }

    /// Readers take whole numbers, and none of 0.
    private static func milliseconds(_ seconds: Double) -> Int { max(1, Int(min(seconds * 1000, 1e15).rounded())) }
}
