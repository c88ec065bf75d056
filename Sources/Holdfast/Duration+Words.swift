extension Duration {
    /// The duration for a log: in seconds, or in milliseconds below one, with up to three decimals.
    var inWords: String {
        // A duration is a number of attoseconds: arithmetic may give 1.600000000000000001 s for 1.6 s.
        let (seconds, attoseconds) = components
        let milliseconds = attoseconds / 1_000_000_000_000_000
        if seconds == 0 { return "\(milliseconds) ms" }
        guard milliseconds != 0 else { return "\(seconds) s" }
        var digits = "\(1000 + abs(milliseconds))".dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(seconds).\(digits) s"
    }
}
