internal import CommandOptions
internal import LinuxSystem
internal import ProcessSupervisor
internal import SystemPackage

/// `holdfast probe`: for Kubernetes' exec probes and Docker's HEALTHCHECK.
enum ProbeCommand {
    static func run(_ arguments: ArraySlice<String>) throws(UsageError) -> CInt {
        final class Wish {
            var store: String?
            var control: String?
        }
        let wish = Wish()
        var options = Options()
        options.add("--store", "DIR", "the store of the supervisor") { wish.store = $0 }
        options.add("--control", "PATH", "the socket of the supervisor; found in the store by default") {
            wish.control = $0
        }
        let usage = "holdfast probe [options] [PROGRAM]"
        if arguments.contains("--help") || arguments.contains("-h") {
            print(
                "Usage: \(usage)\n\nEnds with 0 if all programs are ready, else with 1 and a line that says which is not.\n\n\(options.help)"
            )
            return 0
        }
        let rest = try options.readAll(arguments)
        guard rest.count <= 1 else { throw UsageError(text: "one program at most: \(usage)") }
        let store = (wish.store.map { FilePath($0) } ?? StoreLocation.path(environment: ByteText.environment())).map(
            \.absolute
        )
        do {
            let client = try ControlClient(
                control: wish.control.map { FilePath($0).absolute },
                store: store,
                program: rest.first
            )
            _ = try client.ask(ControlRequest(.probe, program: rest.first))
            return 0
        } catch {
            complain(error.description)
            return ExitCode.failed
        }
    }
}
