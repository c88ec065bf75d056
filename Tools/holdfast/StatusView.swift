internal import Glibc
internal import ProcessSupervisor

/// Says again and again how programs are: on one page of a terminal, elsewhere anew whenever it has changed.
struct StatusView {
    /// How often it asks, in microseconds.
    private static let pause: UInt32 = 500_000

    // ECMA-48: erase the page, go to its beginning, erase the rest of the line, erase the rest of the page.
    private static let newPage = "\u{1b}[2J"
    private static let home = "\u{1b}[H"
    private static let endOfLine = "\u{1b}[K\n"
    private static let endOfPage = "\u{1b}[J"

    private let isTerminal = isatty(STDOUT_FILENO) == 1

    /// Goes on until a signal ends the process, such as SIGINT of Ctrl-C, or until nobody answers any more.
    ///
    /// - Parameter ask: Asks for the words.
    /// - Throws: `ControlClient.Failure`.
    func run(_ ask: () throws(ControlClient.Failure) -> String) throws(ControlClient.Failure) -> Never {
        var last = ""
        if isTerminal { write(Self.newPage) }
        while true {
            let text = try ask()
            if isTerminal {
                let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
                write(Self.home + lines.map { $0 + Self.endOfLine }.joined() + Self.endOfPage)
            } else if text != last {
                write(text + "\n")
            }
            last = text
            usleep(Self.pause)
        }
    }

    /// Ends the process if nobody reads any more, and SIGPIPE is ignored.
    private func write(_ text: String) {
        let count = unsafe Array(text.utf8).withUnsafeBytes {
            unsafe Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count)
        }
        if count < 0, errno != EINTR { exit(ExitCode.failed) }
    }
}
