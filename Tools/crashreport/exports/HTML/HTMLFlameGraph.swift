internal import CrashReports

/// A profile as blocks: a call each, as wide as it took long, below the call that made it.
struct HTMLFlameGraph {
    /// A call as it is drawn.
    struct Block {
        var row: CrashReport.Stall.Profile.Row
        /// Where it begins and how wide it is, of ``HTMLFlameGraph/width``.
        var x: Double
        var width: Double
    }

    /// How wide the outermost calls are together.
    static let width = 1000.0
    /// How high a block is.
    static let blockHeight = 20.0
    /// What is narrower cannot be seen.
    private static let narrowest = 0.5
    private static let mostBlocks = 600
    private static let mostDepth = 64

    /// The blocks, each after the one that it lies below.
    private(set) var blocks: [Block] = []
    /// How many calls are not drawn: they are too narrow, too deep or too many.
    private(set) var hidden = 0
    /// The time that the whole width stands for, in seconds.
    let seconds: Double

    /// Takes a profile, with any depths and times.
    init(_ profile: CrashReport.Stall.Profile) {
        let rows = profile.rows
        // What is left of the width were samples without a call.
        seconds = profile.wholeSeconds(of: rows)
        // Up to where the blocks of each depth have come, and where those of their caller end; nil below what is not drawn.
        var free: [(x: Double, end: Double)?] = [(0, Self.width)]
        for row in rows {
            free.removeSubrange((row.depth + 1)...)
            guard let room = free[row.depth] else {
                free.append(nil)
                hidden += 1
                continue
            }
            // What a hostile report calls longer than its caller ends with it.
            let wanted = seconds > 0 ? max(0, row.call.seconds) / seconds * Self.width : 0
            let width = min(wanted, room.end - room.x)
            guard width >= Self.narrowest, row.depth < Self.mostDepth, blocks.count < Self.mostBlocks else {
                free.append(nil)
                hidden += 1
                continue
            }
            blocks.append(Block(row: row, x: room.x, width: width))
            free[row.depth] = (room.x + width, room.end)
            free.append((room.x, room.x + width))
        }
    }

    /// How many calls are drawn one below the other at most.
    var depth: Int { (blocks.map(\.row.depth).max() ?? -1) + 1 }

    /// What a block says when somebody points at it.
    func title(of block: Block) -> String {
        let call = block.row.call
        let part = HTMLReportPage.number(min(block.width / Self.width, 1) * 100)
        let name = call.location.limited(to: 300)
        return "\(name): \(CrashReport.Stall.text(seconds: call.seconds)), \(part) %\(call.inlined ? ", inlined" : "")"
    }
}
