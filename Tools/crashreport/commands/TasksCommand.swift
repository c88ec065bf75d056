import ArgumentParser
import CrashReports
import SystemPackage

/// Shows what the tasks of a process do.
struct TasksCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tasks",
        abstract: "Show what the tasks of a running process do.",
        discussion: """
            Asks a process for the tasks of its fault boundaries and their children: how long each has run, and where it is or waits, with \
            the functions that await it. Tasks of one kind at the same place are one paragraph. It answers although its main loop and all \
            of its tasks may hang; they go on undisturbed.

            EXAMPLES:
              crashreport tasks            of the only process that has the store
              crashreport tasks 4711
              crashreport tasks 4711 --json --store /var/lib/mail-agent
            """
    )

    @OptionGroup
    var options: StoreOptions

    @Argument(help: ArgumentHelp("The process; not needed if the store has only one.", valueName: "pid"))
    var pid: Int32?

    @Option(help: ArgumentHelp("How many seconds to wait for the answer.", valueName: "seconds"))
    var timeout: Double = 10

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard timeout > 0, timeout <= 86400 else {
            throw ValidationError("The number of seconds must be more than 0, and at most 86400.")
        }
        if let pid, pid <= 0 { throw ValidationError("A pid is a number from 1 on.") }
    }

    func run() throws {
        let store = try options.openExisting()
        let process = try choose(from: try processes(of: store), store)
        let question = TaskQuestion()
        let answer: [UInt8]?
        do {
            try question.send(to: process.pid)
            answer = try question.answer(in: store, within: .seconds(timeout))
        } catch {
            throw failure("cannot ask the process \(process.pid): \(error)")
        }
        guard let answer else {
            throw failure(
                """
                the process \(process.pid) has not answered within \(timeout) s: it is stopped, has no processor, or writes to a disk that \
                stands still
                """
            )
        }
        let dump = try TaskDump(json: answer)
        if json {
            try Output.write(bytes: try dump.json())
        } else {
            try Output.write(dump.lines.map { $0 + "\n" }.joined())
        }
    }

    private func processes(of store: ReportStore) throws -> [AskedProcess] {
        do {
            return try AskedProcess.all(of: store)
        } catch {
            throw failure("cannot find the processes that have the store \(store.path): \(error)")
        }
    }

    private func choose(from processes: [AskedProcess], _ store: ReportStore) throws -> AskedProcess {
        let list = processes.map { "\($0.pid) (\($0.name))" }.joined(separator: ", ")
        let known = processes.isEmpty ? "no process that you may look at has it" : "these have it: \(list)"
        let process: AskedProcess
        if let pid {
            guard let found = processes.first(where: { $0.pid == pid }) else {
                throw failure("the process \(pid) does not have the store \(store.path); \(known)")
            }
            process = found
        } else {
            guard processes.count == 1 else { throw failure("which process? Of the store \(store.path), \(known)") }
            process = processes[0]
        }
        guard process.canAnswer else {
            throw failure("the process \(process.pid) cannot be asked: capturesThreads is off in its configuration")
        }
        return process
    }

    private func failure(_ text: String) -> ExitCode {
        Output.complain(text)
        return ExitStatus.noReports
    }
}
