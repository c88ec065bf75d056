internal import CommandOptions
internal import Glibc
internal import LinuxSystem
internal import ProcessSupervisor
internal import SystemPackage

/// The commands that talk to a supervisor that runs: `holdfast status` and the like.
enum OrderCommand {
    static func run(_ order: ControlRequest.Order, _ arguments: ArraySlice<String>) throws(UsageError) -> CInt {
        final class Wish {
            var store: String?
            var control: String?
            var isJSON = false
            var isWatched = false
        }
        let wish = Wish()
        var options = Options()
        options.add("--store", "DIR", "the store of the supervisor") { wish.store = $0 }
        options.add("--control", "PATH", "the socket of the supervisor; found in the store by default") {
            wish.control = $0
        }
        if order == .status {
            options.add("--json", nil, "the answer as it is") { _ in wish.isJSON = true }
            options.add("--watch", nil, "goes on saying it, until Ctrl-C: a live view in a terminal") { _ in
                wish.isWatched = true
            }
        }
        let usage = "holdfast \(order.rawValue) [options]\(order == .stop ? "" : " [PROGRAM]")"
        if arguments.contains("--help") || arguments.contains("-h") {
            print("Usage: \(usage)\n\n\(options.help)")
            return 0
        }
        let rest = try options.readAll(arguments)
        guard rest.count <= 1 else { throw UsageError(text: "one program at most: \(usage)") }
        let environment = ByteText.environment()
        let store = (wish.store.map { FilePath($0) } ?? StoreLocation.path(environment: environment)).map(\.absolute)
        do {
            let client = try ControlClient(
                control: wish.control.map { FilePath($0).absolute },
                store: store,
                program: rest.first
            )
            let isForPeople = order == .status && !wish.isJSON
            let request = ControlRequest(isForPeople ? .describe : order, program: rest.first)
            if wish.isWatched {
                try StatusView().run { () throws(ControlClient.Failure) in try client.ask(request) }
            }
            print(try client.ask(request))
            return 0
        } catch {
            complain(error.description)
            return error.isRefusal ? ExitCode.failed : ExitCode.unavailable
        }
    }
}
