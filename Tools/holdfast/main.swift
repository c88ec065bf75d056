internal import CommandOptions
internal import Glibc
internal import LinuxSystem
internal import ProcessSupervisor
internal import SystemPackage

/// How the command ends when it has no program's status to end with: sysexits.h.
enum ExitCode {
    static let failed: CInt = 1
    static let usage: CInt = 64
    static let unavailable: CInt = 69
}

extension FilePath {
    /// The path from the root on, whatever the working directory will be.
    var absolute: FilePath { isAbsolute ? self : fromRoot.lexicallyNormalized() }
}

/// Says what is wrong.
func complain(_ text: String) {
    let line = "holdfast: \(text)\n"
    _ = unsafe Array(line.utf8).withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

let help = """
    Usage: holdfast COMMAND

      run      runs a program, and starts it again when it ends
      status   says how a supervisor's programs are
      restart  ends them and starts them again
      reload   has them read their configuration again
      upgrade  starts the next process beside the one that serves, and lets it take over
      stop     ends them, and the supervisor
      probe    ends with 0 if they are ready: for a container's health check

    'holdfast COMMAND --help' says more.
    """

@MainActor
func command(_ arguments: [String]) -> CInt {
    guard let name = arguments.dropFirst().first else {
        complain("no command is given\n\(help)")
        return ExitCode.usage
    }
    let rest = arguments.dropFirst(2)
    let orders: [ControlRequest.Order] = [.status, .restart, .reload, .upgrade, .stop]
    let names = ["run", "probe"] + orders.map(\.rawValue)
    do throws(UsageError) {
        switch name {
        case "--help", "-h", "help":
            print(help)
            return 0
        case "--version":
            print(HoldfastVersion.current)
            return 0
        case "run": return try RunCommand.run(rest)
        case "probe": return try ProbeCommand.run(rest)
        default:
            if let order = orders.first(where: { $0.rawValue == name }) { return try OrderCommand.run(order, rest) }
            let near = Options.nearest(name, among: names).map { "; did you mean '\($0)'?" } ?? ""
            throw UsageError(text: "no such command: \(name)\(near)")
        }
    } catch {
        complain("\(error.text)\n'holdfast\(names.contains(name) ? " \(name)" : "") --help' says more")
        return ExitCode.usage
    }
}

// Before anything else is opened: it would become a standard descriptor of the program.
for number in 0...2 where fcntl(CInt(number), F_GETFD) < 0 { _ = unsafe open("/dev/null", O_RDWR) }

exit(command(ByteText.arguments()))
