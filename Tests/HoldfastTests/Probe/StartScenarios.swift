import CFaultInjection
import Glibc
import Holdfast
import Logging
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

    /// Makes a host whose report writer is refused its thread: all else is there by then.
    static func refusedWriter(_ store: String) throws {
        var configuration = EventHost.Configuration()
        configuration.store = FilePath(store)
        configuration.crashLoop = CrashLoopPolicy(earlyEnds: 1)
        configuration.stalls = nil
        configuration.calloutDeadline = nil
        // In safe mode that is said when the crash thread runs, and the writer does not yet.
        configuration.logger = Logger(label: "probe") { _ in RefusingLog() }
        _ = HostRunLoop.main
        let threads = names(in: "/proc/self/task").count
        let result = Result { try EventHost(configuration) }
        guard RefusingLog.hasRefused else { return Probe.say("nothing was refused") }
        guard case .failure = result else { return Probe.say("made") }
        var action = sigaction()
        for signal in [SIGSEGV, SIGPIPE] {
            sigaction(signal, nil, &action)
            Probe.say("handler of \(signal) \(action.__sigaction_handler.sa_handler != nil)")
        }
        Probe.say("spool \(names(in: store + "/spool"))")
        // A thread that has ended is listed for a moment longer.
        var looks = 0
        while names(in: "/proc/self/task").count != threads, looks < 10_000 {
            usleep(1000)
            looks += 1
        }
        Probe.say("threads \(names(in: "/proc/self/task").count - threads)")
    }

    static func names(in folder: String) -> [String] {
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

/// A log that has the kernel refuse new threads from the first line on.
private struct RefusingLog: LogHandler {
    /// Set on the main thread, before any other reads it.
    nonisolated(unsafe) static var hasRefused = false
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        guard !Self.hasRefused, "\(event.message)".contains("safe mode") else { return }
        // SYS_clone3 and SYS_clone of unistd.h, which Swift does not import.
        Self.hasRefused = hf_sandbox_refuse(435, EAGAIN) && hf_sandbox_refuse(56, EAGAIN)
    }
}
