/// What the supervisor says itself: lines on standard error.
enum Log {
    /// Writes a line, unless standard error has no room: a supervisor does not wait for a reader.
    static func write(_ text: String) {
        guard StandardError.room == .some else { return }
        _ = StandardError.write(Array("holdfast: \(text)\n".utf8).prefix(4096))
    }
}
