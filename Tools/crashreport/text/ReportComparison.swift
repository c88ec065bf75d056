package import CrashReports

/// What two reports have in common, and what not.
///
/// Times and numbers of processes are left out: they always differ. What differs from one run to the next, as addresses do and
/// numbers in texts, is told apart from what may be a cause.
package struct ReportComparison: Sendable, Hashable, Encodable {
    /// Something that a report says.
    package struct Field: Sendable, Hashable, Encodable {
        /// What it is.
        package var name: String
        /// What the first report says; nil if nothing.
        package var first: String?
        /// What the second report says; nil if nothing.
        package var second: String?
    }

    /// A call, or the lack of one.
    package struct Call: Sendable, Hashable, Encodable {
        /// In which of the reports it is.
        package enum Change: String, Sendable, Hashable, Encodable {
            /// In both, at the same place.
            case same
            /// In both, with another place in the source.
            case moved
            /// Only in the first.
            case removed
            /// Only in the second.
            case added
        }

        /// In which of the reports it is.
        package var change: Change
        /// Where it is in the first report.
        package var first: String?
        /// Where it is in the second report.
        package var second: String?
    }

    /// More calls than these are not compared: it takes time that grows with the square of what differs.
    private static let mostCalls = 256

    /// The fingerprint of the first, by the rule of this version if the two were made by different ones.
    package let firstFingerprint: Fingerprint
    /// The fingerprint of the second, by the same rule.
    package let secondFingerprint: Fingerprint
    /// Whether both have the same cause, as far as the fingerprint tells.
    package let isSameGroup: Bool
    /// What differs.
    package let differences: [Field]
    /// What differs from one run to the next, and says nothing of the cause; none in reports of different groups.
    package let circumstances: [Field]
    /// The names of what both say alike.
    package let alike: [String]
    /// The calls of the thread that faulted, or those that took most of the time of a stall.
    package let calls: [Call]

    /// Compares two reports.
    ///
    /// - Parameters:
    ///   - first: A report.
    ///   - second: Another report.
    package init(_ first: CrashReport, _ second: CrashReport) {
        // Fingerprints of different rules are never equal.
        let isComparable = Self.rule(of: first) == Self.rule(of: second)
        firstFingerprint = isComparable ? first.fingerprint : Fingerprint(of: first)
        secondFingerprint = isComparable ? second.fingerprint : Fingerprint(of: second)
        isSameGroup = firstFingerprint == secondFingerprint
        let fields = Self.fields(of: first, second)
        // Where the causes differ, anything may be why.
        let isEqual = isSameGroup
        differences = fields.filter { $0.first != $0.second && !(isEqual && Self.isCircumstance($0)) }
        circumstances = fields.filter { $0.first != $0.second && isEqual && Self.isCircumstance($0) }
        alike = fields.filter { $0.first == $0.second && $0.first != nil }.map(\.name)
        calls = Self.calls(of: first, second)
    }

    /// The version of the rule that made a fingerprint.
    private static func rule(of report: CrashReport) -> Substring {
        report.fingerprint.rawValue.prefix { $0 != "-" }
    }

    /// The calls that are compared, the innermost first: of a stall those that took most of the time, for the last sample is chance.
    private static func steps(of report: CrashReport) -> [(name: String, location: String)] {
        if let profile = report.stall?.profile {
            return profile.heaviestPath.reversed().prefix(mostCalls).map { call in
                call.function == nil && call.imageName == nil ? unknownCode : (call.name, call.location)
            }
        }
        let frames = report.thread.frames.filter { $0.runtimeFailure == nil }.prefix(mostCalls)
        return frames.map { frame in
            frame.function == nil && frame.imageName == nil ? unknownCode : (frame.comparisonName, frame.location)
        }
    }

    /// An address without a function and without an image is another one in each process.
    private static let unknownCode = (name: "unknown code", location: "unknown code")

    private static func calls(of first: CrashReport, _ second: CrashReport) -> [Call] {
        let (old, new) = (steps(of: first), steps(of: second))
        let difference = new.map(\.name).difference(from: old.map(\.name))
        var removed: Set<Int> = []
        var added: Set<Int> = []
        for change in difference {
            switch change {
            case .remove(let offset, _, _): removed.insert(offset)
            case .insert(let offset, _, _): added.insert(offset)
            }
        }
        var calls: [Call] = []
        var (i, j) = (0, 0)
        while i < old.count || j < new.count {
            if i < old.count, removed.contains(i) {
                calls.append(Call(change: .removed, first: old[i].location))
                i += 1
            } else if j < new.count, added.contains(j) {
                calls.append(Call(change: .added, second: new[j].location))
                j += 1
            } else if i < old.count, j < new.count {
                let (before, after) = (old[i].location, new[j].location)
                calls.append(Call(change: before == after ? .same : .moved, first: before, second: after))
                i += 1
                j += 1
            } else {
                // What is in neither set is in both lists.
                break
            }
        }
        return calls
    }
}

extension CrashReport.Frame {
    /// What makes it the same call in another build: its function, or else where in which image.
    fileprivate var comparisonName: String {
        function ?? imageLocation ?? address.description
    }
}
