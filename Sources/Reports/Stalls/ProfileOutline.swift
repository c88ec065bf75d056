/// A profile made ready to be shown: without what is tiny, and with the places where paths part.
package struct ProfileOutline {
    /// A call that is shown.
    package struct Line {
        /// The call.
        package var row: CrashReport.Stall.Profile.Row
        /// What is drawn before its name.
        package var branches: [Branch]
        /// Whether what it called is the next line, at the same place: there is only one way to go on.
        package var hasOnlyChild = false
    }

    /// A column of the drawing of a tree.
    package enum Branch {
        /// Another path comes below.
        case passing
        /// Nothing.
        case none
        /// A path begins here, and another one below.
        case begin
        /// The last path begins here.
        case last
    }

    /// A call that took a smaller part of the time is not shown.
    private static let smallestPart = 0.01
    /// Columns of the drawing; what parts deeper inside is drawn as if it did not.
    private static let mostBranches = 16
    /// Lines that are made.
    private static let mostLines = 400

    /// The calls that are shown, in their order.
    package private(set) var lines: [Line] = []
    /// How many calls are not shown because they took so little, with all that they called.
    package private(set) var tiny = 0
    /// How many calls are not shown because there are too many.
    package private(set) var more = 0
    /// What 100 % is, in seconds; zero if no part can be told.
    package let whole: Double

    /// Takes a profile, with any depths and times.
    package init(_ profile: CrashReport.Stall.Profile) {
        let rows = profile.rows
        whole = profile.wholeSeconds(of: rows)
        let smallest = whole * Self.smallestPart

        // Which rows are shown, and what they were called by: a row whose caller is not shown is not shown either.
        var path: [Int?] = []
        var parents: [Int?] = []
        var lastChildren: [Int?: Int] = [:]
        var childCounts: [Int?: Int] = [:]
        for row in rows {
            path.removeSubrange(row.depth...)
            let parent = row.depth > 0 ? path[row.depth - 1] : nil
            let isFull = lines.count >= Self.mostLines
            let isTiny = row.depth > 0 && parent == nil || !(row.call.seconds >= smallest)
            guard !isTiny, !isFull else {
                path.append(nil)
                // Once there is no room, nobody knows why the caller of a call is not shown.
                if isFull { more += 1 } else { tiny += 1 }
                continue
            }
            path.append(lines.count)
            childCounts[parent, default: 0] += 1
            lastChildren[parent] = lines.count
            parents.append(parent)
            lines.append(Line(row: row, branches: []))
        }
        for index in lines.indices {
            let parent = parents[index]
            let inherited = parent.map { lines[$0].branches.map(\.below) } ?? []
            let isOnly = childCounts[parent] == 1
            let column: [Branch] = isOnly ? [] : [lastChildren[parent] == index ? .last : .begin]
            lines[index].branches = inherited.count < Self.mostBranches ? inherited + column : inherited
            if isOnly, let parent { lines[parent].hasOnlyChild = true }
        }
    }

    /// Which part of the whole a time is, in percent; nil if that cannot be told.
    package func percent(_ seconds: Double) -> Int? {
        guard whole > 0, seconds.isFinite else { return nil }
        return Int(min(max(0, seconds / whole * 100), 999).rounded())
    }
}

extension ProfileOutline.Branch {
    /// What stands below it, before what was called there.
    package var below: Self {
        switch self {
        case .passing, .begin: .passing
        case .none, .last: .none
        }
    }
}
