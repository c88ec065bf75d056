import CrashReports

/// What came of comparing many stacks.
struct Judgement {
    /// Why a report does not say what gdb says.
    enum Cause: String, CaseIterable {
        /// The debug information has line 0, and gdb shows the line of an instruction before.
        case noLine = "no line"
        /// The function is not on the stack any more: it ended in a jump to the next.
        case tailCall = "tail call"
    }

    let frames: Int
    let equal: Int
    private(set) var explained: [Cause: Int] = [:]
    private(set) var unexplained: [StackComparison.Difference] = []

    /// The share of frames that are the same; where gdb alone shows a line, the same but for that.
    var share: Double { Double(equal + explained[.noLine, default: 0]) / Double(max(1, frames)) }

    /// Looks for the cause of each difference.
    ///
    /// - Parameters:
    ///   - comparisons: The stacks.
    ///   - program: The program, with debug information.
    /// - Throws: `HarnessError` when there is no answer about a line.
    init(_ comparisons: [StackComparison], program: String) throws {
        let differences = comparisons.flatMap(\.differences)
        equal = comparisons.reduce(0) { $0 + $1.equal }
        frames = equal + differences.count
        let lines = differences.filter(\.isOfLineAlone)
        let witnessed = try LineWitness.lines(of: lines.compactMap(\.lookedUp), in: program)
        for (difference, lines) in zip(lines, witnessed) {
            let hasNoLine = difference.depth < lines.count && lines[difference.depth] == 0
            add(difference, hasNoLine ? .noLine : nil)
        }
        for difference in differences where !difference.isOfLineAlone {
            add(difference, difference.ours == nil && difference.gdb?.isTailCall == true ? .tailCall : nil)
        }
    }

    private mutating func add(_ difference: StackComparison.Difference, _ cause: Cause?) {
        if let cause { explained[cause, default: 0] += 1 } else { unexplained.append(difference) }
    }
}

extension StackComparison.Difference: CustomStringConvertible {
    var description: String {
        let report = ours.map { frame in
            "\(frame.address) \(frame.rawName ?? "?") \(frame.file ?? "?"):\(frame.line ?? 0)\(frame.inlined ? " inlined" : "")"
        }
        let debugger = gdb.map { frame in
            "\(HexAddress(frame.address)) \(frame.function ?? "?") \(frame.file ?? "?"):\(frame.line)"
                + (frame.inlined ? " inlined" : "")
        }
        return "\(self.case): the report says \(report ?? "nothing"), gdb \(debugger ?? "nothing")"
    }
}
