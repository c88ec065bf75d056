extension Duration {
    /// The duration as a log says it: in seconds, or milliseconds below one, with three digits at most behind the point.
    var inWords: String {
        // A duration is a number of attoseconds: 1.6 s comes of arithmetic as 1.600000000000000001 s.
        let (seconds, attoseconds) = components
        let milliseconds = attoseconds / 1_000_000_000_000_000
        if seconds == 0 { return "\(milliseconds) ms" }
        guard milliseconds != 0 else { return "\(seconds) s" }
        var digits = "\(1000 + abs(milliseconds))".dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(seconds).\(digits) s"
    }
}
