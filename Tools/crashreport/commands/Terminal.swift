import CrashReports
import FoundationEssentials
import Glibc
import ReportText

/// What the output goes to.
struct Terminal {
    /// What text may use there.
    let layout: TextLayout
    /// How many lines it has; nil when it is no terminal.
    let height: Int?

    /// What the standard output goes to, as wide as it is now.
    static var standardOutput: Terminal { Terminal(of: STDOUT_FILENO) }

    /// What text may use on the standard output, with times in a time zone.
    static func layout(in zone: DisplayZone) -> TextLayout {
        var layout = standardOutput.layout
        layout.zone = zone
        return layout
    }

    /// What errors go to.
    static var standardError: Terminal { Terminal(of: STDERR_FILENO) }

    private init(of descriptor: CInt) {
        guard isatty(descriptor) == 1 else {
            layout = .plain
            height = nil
            return
        }
        let environment = ProcessInfo.processInfo.environment
        let isRefused = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        var size = winsize()
        let isKnown = unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        layout = TextLayout(
            width: isKnown ? Int(size.ws_col) : 80,
            usesColor: !isRefused && environment["TERM"] != "dumb",
            isUnicode: Self.isUnicode(environment)
        )
        height = isKnown && size.ws_row > 0 ? Int(size.ws_row) : 24
    }

    /// Whether the locale is one of UTF-8 (locale(7)): the first of the variables that is set counts.
    private static func isUnicode(_ environment: [String: String]) -> Bool {
        let value = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        let name = (value ?? "C").lowercased()
        return name.contains("utf-8") || name.contains("utf8")
    }
}
