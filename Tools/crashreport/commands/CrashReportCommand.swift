import ArgumentParser
import CrashReports
import LinuxSystem

/// Lists, shows and looks after crash reports.
@main
struct CrashReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "crashreport",
        abstract: "List, show and look after crash reports.",
        discussion: """
            Processes that Holdfast looks after leave a report of every fault and stall in a store, a directory: the one that --store \
            names, or else the first of the environment. All times are UTC.

            EXAMPLES:
              crashreport list --since 2h      what happened in the last two hours
              crashreport list --group         a line per bug
              crashreport show last            the newest report
              crashreport show 01a1fcd57d5b    by the first digits of its identifier
              crashreport stats                how often, since when, in which builds
              crashreport watch                faults and stalls as they happen
              crashreport tasks                what the tasks of a running process do

            ENVIRONMENT:
              HOLDFAST_STORE   the store; else
              STATE_DIRECTORY  the store, or several with colons in between, of which
                               the first counts; systemd sets it; else
              XDG_STATE_HOME   the store is "holdfast" in there; else
              HOME             the store is ".local/state/holdfast" in there
              PAGER            shows what is too long for a terminal; less without it
              NO_COLOR         no colours, if it is not empty; nor with TERM=dumb
              LC_ALL           with LC_CTYPE and LANG: a terminal that is not one of
                               UTF-8 is shown ASCII only

            EXIT STATUS:
              0   success; also when the reader of the output went away
              1   there is no report, none that fits the filters, no store to look after,
                  or no process that answers
              64  wrong usage, or no environment variable says where the store is
              65  a report or the store is damaged or may not be read
              66  no report, or more than one, has such an identifier
              73  the store could not be changed
              74  the output could not be written
            """,
        version: HoldfastVersion.current,
        subcommands: [
            ListCommand.self, ShowCommand.self, StatsCommand.self, WatchCommand.self, DiffCommand.self,
            ExportCommand.self, HTMLReportCommand.self, SymbolicateCommand.self, PathCommand.self, VerifyCommand.self,
            PruneCommand.self, TasksCommand.self,
        ]
    )

    static func main() {
        Output.prepare()
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            var command = try parseAsRoot(arguments)
            try command.run()
        } catch {
            end(with: error)
        }
    }

    /// Ends as `exit(withError:)` does, which takes no notice of help and scripts that cannot be written.
    private static func end(with error: any Error) -> Never {
        if let error = error as? ReportStoreError {
            Output.complain(error.description)
            exit(withError: ExitStatus.of(error))
        }
        if let error = error as? ReportFormatError {
            Output.complain(error.description)
            exit(withError: ExitStatus.damaged)
        }
        let text = fullMessage(for: error)
        guard !text.isEmpty else { exit(withError: error) }
        let code = exitCode(for: error)
        guard code.isSuccess else {
            // Lines of its own making: what a user typed is quoted in them.
            for line in text.split(separator: "\n", omittingEmptySubsequences: false) { Output.say(String(line)) }
            exit(withError: code)
        }
        do {
            try Output.write(text + "\n")
        } catch {
            exit(withError: error)
        }
        exit(withError: code)
    }
}
