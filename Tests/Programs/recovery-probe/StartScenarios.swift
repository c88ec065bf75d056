import CFaultInjection
import CrashCapture
import Glibc
import Holdfast
import Logging

/// Hosts that cannot be made, or are made and never run.
@MainActor
enum StartScenarios {
    /// Makes a host with ever more descriptors until there are enough, and looks each time at what the attempt has left.
    static func failed(_ store: String) throws {
        _ = HostRunLoop.main
        var configuration = EventHost.Configuration.conservative
        configuration.store = store
        configuration.advanced.requiresStore = true
        configuration.advanced.earlyEnds = nil
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
                // It closes the descriptor that is kept for it.
                CrashCapture.awaitCrashThread()
                var open = 0
                // What is made when it is used first, and then stays, is the first one's.
                for _ in 0..<2 {
                    open = names(in: "/proc/self/fd").count
                    if case .success = Result(catching: { try EventHost(configuration) }) {
                        return Probe.say("made twice")
                    }
                }
                Probe.say("made, another left \(names(in: "/proc/self/fd").count - open)")
                return host.close()
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

    /// Of a host whose report writer finds no thread.
    ///
    /// Its log sees to that when safe mode is told, where the crash thread runs, and the writer does not yet. The main loop is there by then.
    private static func refusingConfiguration(_ store: String) -> EventHost.Configuration {
        var configuration = EventHost.Configuration.conservative
        configuration.store = store
        configuration.advanced.earlyEnds = 1
        configuration.stallPolicy = nil
        configuration.logger = Logger(label: "probe") { _ in RefusingLog() }
        _ = HostRunLoop.main
        return configuration
    }

    /// A process that was started without the standard descriptors; ends with 0 where each of them is open on nothing.
    static func withoutStandard(_ store: String) throws {
        let host = try HostScenario.host(store)
        var null = stat()
        stat("/dev/null", &null)
        let areOpen = (CInt(0)...2).allSatisfy { descriptor in
            var status = stat()
            return fstat(descriptor, &status) == 0 && status.st_mode == null.st_mode && status.st_rdev == null.st_rdev
        }
        host.close()
        exit(areOpen ? 0 : 1)
    }

    /// Makes a host whose report writer is refused its thread: all else is there by then.
    static func refusedWriter(_ store: String) throws {
        var configuration = refusingConfiguration(store)
        configuration.calloutDeadline = nil
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

    /// Makes hosts whose report writers are refused their threads, one after the other, and says what each of them leaves open.
    static func refusedWriters(_ store: String) throws {
        // Limits of the number of threads are not for root.
        if getuid() == 0 {
            chown(store, 65_534, 65_534)
            guard hf_sandbox_become(65_534) else { return Probe.say("still root") }
        }
        RefusingLog.setsLimit = true
        let configuration = refusingConfiguration(store)
        for number in 0..<4 {
            let before = openFiles
            let history = ["PID": "\(getpid())", "RESTARTS": "5", "EARLY_RESTARTS": "5", "LAST_PHASE": "running"]
            for (name, value) in history { setenv("HOLDFAST_\(name)", value, 1) }
            let result = Result { try EventHost(configuration) }
            _ = hf_sandbox_refuse_threads(false)
            guard case .failure = result else { return Probe.say("made") }
            // libunwind makes a pipe when it is used first, and keeps it.
            let new = openFiles.filter { before[$0.key] != $0.value && !(number == 0 && $0.value.hasPrefix("pipe:")) }
            Probe.say("refused \(RefusingLog.hasRefused) left \(new.values.sorted())")
            RefusingLog.hasRefused = false
        }
    }

    /// What each descriptor is open on.
    private static var openFiles: [String: String] {
        var files: [String: String] = [:]
        for name in names(in: "/proc/self/fd") {
            var bytes = [CChar](repeating: 0, count: 4096)
            let count = readlink("/proc/self/fd/\(name)", &bytes, bytes.count)
            if count > 0 { files[name] = String(decoding: bytes[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self) }
        }
        return files
    }

    nonisolated static func names(in folder: String) -> [String] {
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
        var configuration = EventHost.Configuration.conservative
        configuration.store = store
        configuration.advanced.signalPatience = .milliseconds(200)
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
    /// Whether it does so by a limit, which can be lifted again.
    nonisolated(unsafe) static var setsLimit = false
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        guard !Self.hasRefused, "\(event.message)".contains("safe mode") else { return }
        if Self.setsLimit {
            Self.hasRefused = hf_sandbox_refuse_threads(true)
            return
        }
        // SYS_clone3 and SYS_clone of unistd.h, which Swift does not import.
        Self.hasRefused = hf_sandbox_refuse(435, EAGAIN) && hf_sandbox_refuse(56, EAGAIN)
    }
}
