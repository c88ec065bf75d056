/// The ends of a program that count as successes.
package enum SuccessList {
    /// The ends that a text names, such as `2,5-7,SIGTERM`; nil if it is not understood.
    package static func read(_ text: String) -> Set<ProcessEnd>? {
        var successes: Set<ProcessEnd> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { CInt($0) }
            switch (ends.count, ends.first ?? nil, ends.last ?? nil) {
            case (1, let status?, _):
                guard (0...255).contains(status) else { return nil }
                successes.insert(.exited(status))
            case (2, let first?, let last?):
                guard (0...255).contains(first), (first...255).contains(last) else { return nil }
                for status in first...last { successes.insert(.exited(status)) }
            default:
                guard let signal = SignalName.number(of: String(part)) else { return nil }
                successes.insert(.signalled(signal))
            }
        }
        return successes
    }
}
