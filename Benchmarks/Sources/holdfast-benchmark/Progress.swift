import Glibc

/// Says on a terminal what is being measured.
enum Progress {
    static func say(_ what: String) {
        guard isatty(2) == 1 else { return }
        let text = "\r\u{1B}[K" + what
        _ = unsafe write(2, text, text.utf8.count)
    }

    /// Clears the line.
    static func end() {
        say("")
    }
}
