import ArgumentParser
import CrashReports

/// Lists and shows crash reports.
@main
struct CrashReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "crashreport",
        abstract: "List and show crash reports.",
        discussion: """
            Reports are read from the directory that --store names, else from $HOLDFAST_STORE, $STATE_DIRECTORY, \
            $XDG_STATE_HOME/holdfast or $HOME/.local/state/holdfast, whichever is set first.

            EXAMPLES:
              crashreport list                 the newest 50 reports
              crashreport list --limit 0       all of them
              crashreport list --json          for programs
              crashreport show last            the newest report
              crashreport show 01a1fcd57d5b    by the first digits of its identifier

            EXIT STATUS:
              0   success
              1   there is no report
              64  wrong usage
              65  a report or the store is damaged or may not be read
              66  no report, or more than one, has such an identifier
              74  the output could not be written
            """,
        version: HoldfastVersion.current,
        subcommands: [ListCommand.self, ShowCommand.self]
    )
}
