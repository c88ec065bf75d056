/// A deadline in words.
enum DeadlineText {
    /// Such as `250 ms`, `2 s` or `1.5 s`.
    ///
    /// - Parameter seconds: The deadline, which may be any number.
    /// - Returns: The text.
    static func of(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds >= 0, seconds < 1e12 else { return "an unknown time" }
        let milliseconds = (seconds * 1000).rounded()
        if milliseconds < 1000 { return "\(Int(milliseconds)) ms" }
        let rest = Int(milliseconds) % 1000
        return rest == 0 ? "\(Int(milliseconds) / 1000) s" : "\(milliseconds / 1000) s"
    }
}
