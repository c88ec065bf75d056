import Glibc
import Holdfast
import SystemPackage

/// Hosts that cannot be made, or are made and never run.
@MainActor
enum StartScenarios {
    /// Makes a host with ever more descriptors until there are enough, and looks each time at what the attempt has left.
    static func failed(_ store: String) throws {
        _ = HostRunLoop.main
        var configuration = EventHost.Configuration()
        configuration.store = FilePath(store)
        configuration.requiresStore = true
        configuration.crashLoop = nil
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let usual = limit.rlim_cur
        let threads = names(in: "/proc/self/task").count
        let descriptors = names(in: "/proc/self/fd").count
        for room in 0..<64 {
            limit.rlim_cur = rlim_t(descriptors + room)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let result = Result { try EventHost(configuration) }
            limit.rlim_cur = usual
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            if case .success(let host) = result {
                host.close()
                return Probe.say("made")
            }
            var action = sigaction()
            for signal in [SIGSEGV, SIGPIPE] {
                sigaction(signal, nil, &action)
                if action.__sigaction_handler.sa_handler != nil { Probe.say("a handler of \(signal), room \(room)") }
            }
            let left = names(in: store + "/spool")
            if !left.isEmpty { Probe.say("left \(left), room \(room)") }
            let open = names(in: "/proc/self/fd").count
            if open != descriptors { Probe.say("\(open - descriptors) descriptors, room \(room)") }
            // A thread that has ended is listed for a moment longer.
            var looks = 0
            while names(in: "/proc/self/task").count != threads, looks < 10_000 {
                usleep(1000)
                looks += 1
            }
            if looks == 10_000 { Probe.say("threads \(names(in: "/proc/self/task").count - threads), room \(room)") }
        }
    }

    private static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// A host with a handler of SIGTERM, which nobody runs: `never`, or `late`.
    static func unserved(_ store: String, _ arguments: [String]) throws {
        var configuration = EventHost.Configuration()
        configuration.store = FilePath(store)
        configuration.signalPatience = .milliseconds(200)
        let host = try EventHost(configuration)
        try host.onSignal(SIGTERM) { _ in
            Probe.say("told to end")
            host.stop()
        }
        if arguments == ["never"] {
            Probe.say("ready")
            while true { pause() }
        }
        // Until the signal has its usual effect.
        var action = sigaction()
        repeat {
            usleep(1000)
            sigaction(SIGTERM, nil, &action)
        } while action.__sigaction_handler.sa_handler != nil
        host.perform { kill(getpid(), SIGTERM) }
        host.run()
        host.close()
    }
}
