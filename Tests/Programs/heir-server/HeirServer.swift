import Glibc
import Holdfast
import SystemPackage

/// A server with an async `main` that takes over what another process keeps, and answers nobody.
///
/// Arguments: the port, the store, and how many descriptors the first process keeps; the others keep nothing of their own. SIGUSR1 has it sleep
/// for half a second on its main loop, and fault; SIGUSR2 has it say what it keeps.
@main struct HeirServer {
    static func main() async throws {
        let arguments = CommandLine.arguments
        var configuration = EventHost.Configuration.keepServing
        configuration.store = arguments[2]
        configuration.advanced.earlyEnds = nil
        let host = try EventHost.start(configuration)
        if !EventHost.anotherProcessServes, host.restarts == 0 {
            for number in 0..<(Int(arguments[3]) ?? 0) {
                let some = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
                let descriptor = FileDescriptor(rawValue: some)
                try host.keepAcrossRestart(descriptor, as: "thing \(number)", state: Array("\(number)".utf8))
            }
        }
        host.onHandOver { name, descriptor, state in
            do {
                try host.keepAcrossRestart(descriptor, as: name, state: state)
                return true
            } catch {
                return false
            }
        }
        try host.onSignal(SIGUSR1) { _ in
            usleep(500_000)
            EventHost.withCriticalSection { precondition(arguments.isEmpty) }
        }
        try host.onSignal(SIGUSR2) { _ in
            say("keeps \(host.keptNames.count { host.keptState(named: $0) == Array($0.dropFirst(6).utf8) })")
        }
        // A process that stands by waits in bind(2).
        Task.detached {
            listen(at: UInt16(arguments[1]) ?? 0)
            EventHost.notifyReady()
            say("up \(getpid())")
        }
        while true { try await Task.sleep(for: .seconds(1000)) }
    }

    private static func say(_ line: String) {
        print(line)
        fflush(nil)
    }

    private static func listen(at port: UInt16) {
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var yes: CInt = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0, Glibc.listen(listener, 16) == 0 else { fatalError("port \(port): \(errno)") }
    }
}
