import CFaultInjection
import CrashCapture
import FaultInjection
import Glibc
import Holdfast

/// Restarts in place, by a fault and as planned: `fault` or `planned` is the first argument.
@MainActor
enum RestartScenarios {
    /// Says what the process was started as, twice.
    static func image(_ host: EventHost, _ arguments: [String]) throws {
        func bytes(of path: String) -> [UInt8] {
            var bytes: [UInt8] = []
            guard let file = fopen(path, "r") else { return [] }
            defer { fclose(file) }
            while case let byte = getc(file), byte != EOF { bytes.append(UInt8(byte)) }
            return bytes
        }
        func hex(_ bytes: [UInt8]) -> String { bytes.map { String($0, radix: 16) }.joined(separator: " ") }
        // Beside those that carry the restart.
        let environment = bytes(of: "/proc/self/environ").split(separator: 0)
            .filter { !$0.starts(with: "HOLDFAST_".utf8) }
        let mask = umask(0)
        umask(mask)
        var folder = [CChar](repeating: 0, count: 4096)
        getcwd(&folder, folder.count)
        Probe.say("arguments \(hex(bytes(of: "/proc/self/cmdline")))")
        Probe.say("environment \(hex(Array(environment.joined(separator: [0]))))")
        let path = folder.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        Probe.say("pid \(getpid()) umask \(mask) folder \(hex(path))")
        guard host.restarts == 0 else { return host.close() }
        host.onRestart { Probe.say("handing over") }
        if arguments.count > 1, arguments[1] == "wait" {
            try host.onSignal(SIGUSR1) { _ in host.performRestart(by: arguments[0]) }
            Probe.say("ready")
        } else {
            host.performRestart(by: arguments[0])
        }
        host.run()
    }

    /// The port that a socket is bound to.
    static func port(of descriptor: CInt) -> UInt16 {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = getsockname(descriptor, pointer, &size)
            }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    /// A listening socket on the loopback interface.
    static func listen() -> (descriptor: CInt, port: UInt16) {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                precondition(bind(descriptor, pointer, size) == 0 && Glibc.listen(descriptor, 1024) == 0)
                getsockname(descriptor, pointer, &size)
            }
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    private static func readLine(_ descriptor: CInt, after start: [UInt8] = []) -> [UInt8] {
        var line = start
        var byte: UInt8 = 0
        while line.last != UInt8(ascii: "\n"), read(descriptor, &byte, 1) == 1 { line.append(byte) }
        return line
    }

    /// A listening socket whose connections the next process accepts: `KIND COUNT`.
    static func listener(_ host: EventHost, _ arguments: [String]) throws {
        let count = Int(arguments[1]) ?? 0
        if let listener = (host.keptDescriptor(named: "listener")?.rawValue) {
            for _ in 0..<count {
                let client = accept(listener, nil, nil)
                let line = readLine(client)
                _ = write(client, line, line.count)
                close(client)
            }
            Probe.say("served \(count)")
            return host.close()
        }
        let (listener, port) = listen()
        try host.keepAcrossRestart(FileDescriptor(rawValue: listener), as: "listener")
        try host.onSignal(SIGUSR1) { _ in host.performRestart(by: arguments[0]) }
        Probe.say("port \(port)")
        host.run()
    }

    /// Open connections with half a request read: `KIND COUNT`.
    static func connections(_ host: EventHost, _ arguments: [String]) throws {
        let count = Int(arguments[1]) ?? 0
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard host.restarts == 0 else {
            for name in host.keptNames {
                guard let client = (host.keptDescriptor(named: name)?.rawValue), let half = host.keptState(named: name)
                else {
                    Probe.say("lost \(name)")
                    continue
                }
                let line = readLine(client, after: half)
                _ = write(client, line, line.count)
                try host.keepAcrossRestart(nil, as: name)
                close(client)
            }
            Probe.say("left \(host.keptNames.count)")
            return host.close()
        }
        let (listener, port) = listen()
        Probe.say("port \(port)")
        for number in 0..<count {
            let client = accept(listener, nil, nil)
            var half = [UInt8](repeating: 0, count: 16)
            precondition(recv(client, &half, half.count, CInt(MSG_WAITALL)) == half.count)
            try host.keepAcrossRestart(FileDescriptor(rawValue: client), as: "client \(number)", state: half)
        }
        close(listener)
        host.performRestart(by: arguments[0])
        host.run()
    }

    // MARK: Changes and restarts at any moment

    /// What is kept as number `n`: its length and every byte of it follow from the number.
    static func pattern(_ number: Int) -> [UInt8] {
        withUnsafeBytes(of: number) { Array($0) } + Array(repeating: UInt8(number & 0xff), count: number &* 7919 % 5000)
    }

    /// Whether bytes are those of a number, and of which.
    static func number(of state: [UInt8]) -> Int? {
        guard state.count >= 8 else { return nil }
        let number = state.withUnsafeBytes { $0.loadUnaligned(as: Int.self) }
        return number >= 0 && state == pattern(number) ? number : nil
    }

    /// Changes what is kept all the time, while another thread faults at some moment; over as many processes as may follow.
    ///
    /// With the argument `kill` nobody faults: the process is killed from outside.
    static func torn(_ host: EventHost, _ arguments: [String]) throws {
        var count = 0
        if host.restarts > 0 {
            guard let state = host.keptState(named: "torn"), let found = number(of: state),
                (host.keptDescriptor(named: "torn")?.rawValue) != nil, host.lostDescriptors.isEmpty
            else { return Probe.say("torn after \(host.restarts)") }
            // The one that comes and goes is there as a whole or not at all.
            if host.keptNames.contains("fleeting"), host.keptState(named: "fleeting") != pattern(12) {
                return Probe.say("fleeting is torn")
            }
            count = found
            Probe.say("number \(found)")
        }
        guard host.restarts < 15 else { return host.close() }
        let (descriptor, _) = (host.keptDescriptor(named: "torn")?.rawValue).map { ($0, 0) } ?? listen()
        let fleeting = dup(descriptor)
        try host.keepAcrossRestart(FileDescriptor(rawValue: descriptor), as: "torn", state: pattern(count))
        // So many that the restart, which looks at each, takes far longer than a change.
        for number in 0..<2000 {
            try host.keepAcrossRestart(FileDescriptor(rawValue: descriptor), as: "other \(number)")
        }
        if arguments.first == "kill" { Probe.say("ready") } else { startFaulter() }
        while true {
            count += 1
            try host.setKeptState(pattern(count), named: "torn")
            try host.keepAcrossRestart(
                count % 2 == 0 ? FileDescriptor(rawValue: fleeting) : nil,
                as: "fleeting",
                state: pattern(12)
            )
        }
    }

    private nonisolated static func startFaulter() {
        var thread = pthread_t()
        let error = pthread_create(
            &thread,
            nil,
            { _ in
                usleep(UInt32.random(in: 0..<20_000))
                Fault.wildPointer.commit()
                return nil
            },
            nil
        )
        precondition(error == 0, "no thread for a test")
    }

    // MARK: What is handed over, and what is not

    private static func isOpen(_ descriptor: CInt) -> Bool { fcntl(descriptor, F_GETFD) >= 0 }

    private static var openCount: Int {
        guard let folder = opendir("/proc/self/fd") else { return -1 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        return count
    }

    /// Descriptors that are closed, or another file's, when the restart comes.
    static func lostDescriptor(_ host: EventHost, _ arguments: [String]) throws {
        guard host.restarts == 0 else {
            let lost = host.lostDescriptors.sorted { $0.name < $1.name }
            Probe.say("lost \(lost.map(\.name)) with \(lost.map(\.state))")
            Probe.say("kept \(host.keptNames) open \(isOpen(100)) \(isOpen(101)) \(isOpen(102)) \(isOpen(103))")
            return host.close()
        }
        let (listener, _) = listen()
        for number: CInt in 100...103 { dup2(listener, number) }
        try host.keepAcrossRestart(
            FileDescriptor(rawValue: 100),
            as: "closed\n<2>agent: all is well\u{0}<3>",
            state: [1]
        )
        try host.keepAcrossRestart(FileDescriptor(rawValue: 101), as: "replaced", state: [2])
        try host.keepAcrossRestart(FileDescriptor(rawValue: 102), as: "kept", state: [3])
        close(100)
        let other = open("/dev/null", O_RDONLY)
        dup2(other, 101)
        host.performRestart(by: arguments[0])
        host.run()
    }

    /// Two restarts after proc(5) has gone: `KIND`.
    static func withoutProc(_ host: EventHost, _ arguments: [String]) throws {
        if host.restarts == 0 {
            let (listener, _) = listen()
            try host.keepAcrossRestart(FileDescriptor(rawValue: listener), as: "listener", state: [1, 2])
            guard hf_sandbox_hide_processes() else { return Probe.say("no namespace") }
        } else {
            let isListening = (host.keptDescriptor(named: "listener")?.rawValue).map(isOpen)
            Probe.say("kept \(host.keptNames) \(host.keptState(named: "listener") ?? []) \(isListening ?? false)")
            Probe.say("lost \(host.lostDescriptors.map(\.name)) hidden \(access("/proc/self", F_OK) != 0)")
            Probe.say("given \(CrashCapture.arguments { $0 }.dropFirst(3))")
        }
        guard host.restarts < 2 else { return host.close() }
        host.performRestart(by: arguments[0])
        host.run()
    }

    /// A kernel without close_range(2), and a limit of descriptors beyond what can be counted: `KIND`.
    static func oldKernel(_ host: EventHost, _ arguments: [String]) throws {
        guard host.restarts == 0 else {
            Probe.say("kept \(host.keptNames) open \(isOpen(100)) \(isOpen(3000))")
            return host.close()
        }
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let (listener, _) = listen()
        for number: CInt in [100, 3000] { dup2(listener, number) }
        try host.keepAcrossRestart(FileDescriptor(rawValue: 100), as: "kept")
        // SYS_close_range of unistd.h, which Swift does not import; who counts up to the limit meets 4096.
        guard limit.rlim_max > 4096, hf_sandbox_refuse(436, ENOSYS), hf_sandbox_forbid_descriptors(4096) else {
            return Probe.say("no sandbox")
        }
        host.performRestart(by: arguments[0])
        host.run()
    }

    /// Names of all kinds, and as many as there are descriptors for: `KIND COUNT`.
    static func names(_ host: EventHost, _ arguments: [String]) throws {
        let count = Int(arguments[1]) ?? 0
        let odd = ["", "a=b,c", "line\nbreak", "höher 🪢", String(repeating: "n", count: 4096)]
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let names = odd + (0..<count).map { "connection \($0)" }
        guard host.restarts == 0 else {
            Probe.say("same names \(host.keptNames == names.sorted())")
            var whole = 0
            for name in names where host.keptState(named: name) == Array(name.utf8) {
                guard let descriptor = (host.keptDescriptor(named: name)?.rawValue),
                    fcntl(descriptor, F_GETFD) == FD_CLOEXEC
                else { continue }
                whole += 1
            }
            Probe.say("whole \(whole)")
            for name in names { try host.keepAcrossRestart(nil, as: name) }
            Probe.say("left \(host.keptNames.count)")
            return host.close()
        }
        let (listener, _) = listen()
        for name in names {
            let descriptor = fcntl(listener, F_DUPFD_CLOEXEC, 3)
            try host.keepAcrossRestart(FileDescriptor(rawValue: descriptor), as: name, state: Array(name.utf8))
        }
        for (descriptor, name) in [(CInt(99_999), "not open"), (listener, String(repeating: "n", count: 4097))] {
            do throws(EventHostError) {
                try host.keepAcrossRestart(FileDescriptor(rawValue: descriptor), as: name)
            } catch {
                let reason = error.underlyingError
                Probe.say("refused \(reason == .badFileDescriptor) \(reason == .invalidArgument)")
            }
        }
        host.performRestart(by: arguments[0])
        host.run()
    }

    /// A restart that the kernel refuses, changes after it, and one that it does not refuse.
    static func failedRestart(_ host: EventHost) throws {
        guard host.restarts == 0 else {
            for name in host.keptNames {
                let descriptor = (host.keptDescriptor(named: name)?.rawValue) ?? -1
                Probe.say("\(name) \(host.keptState(named: name) ?? []) \(isOpen(descriptor))")
            }
            Probe.say("standard output flags \(fcntl(STDOUT_FILENO, F_GETFD))")
            return host.close()
        }
        let (listener, _) = listen()
        try host.keepAcrossRestart(FileDescriptor(rawValue: listener), as: "changed", state: [1])
        try host.keepAcrossRestart(FileDescriptor(rawValue: listener), as: "given up", state: [2])
        try host.keepAcrossRestart(FileDescriptor(rawValue: STDOUT_FILENO), as: "output", state: [3])
        host.perform {
            // A text of the environment has at most 32 pages (execve(2), MAX_ARG_STRLEN).
            setenv("LARGE", String(repeating: "x", count: 200_000), 1)
            for round: UInt8 in 1...2 {
                host.restart()
                let flags = (fcntl(STDOUT_FILENO, F_GETFD), fcntl(listener, F_GETFD))
                Probe.say("refused, output flags \(flags.0), listener \(flags.1)")
                do {
                    try host.setKeptState(Array(repeating: round, count: 5000), named: "changed")
                    try host.keepAcrossRestart(nil, as: "given up")
                    try host.keepAcrossRestart(FileDescriptor(rawValue: dup(listener)), as: "new", state: [round])
                } catch {
                    Probe.say("\(error)")
                }
            }
            try? host.setKeptState([4], named: "changed")
            unsetenv("LARGE")
            host.restart()
        }
        host.run()
    }

    /// The environment names a descriptor that no process of ours kept.
    static func foreignTable(_ host: EventHost) throws {
        Probe.say("kept \(host.keptNames) flags \(fcntl(7, F_GETFD))")
        host.close()
    }

    // MARK: Users

    /// A process that becomes another user, and then faults hard: `CALL`.
    static func otherUser(_ host: EventHost, _ arguments: [String]) throws {
        if host.restarts > 0 {
            let listener = (host.keptDescriptor(named: "listener")?.rawValue)
            let state = host.keptState(named: "listener") ?? []
            Probe.say("user \(geteuid()) port \(listener.map(port(of:)) ?? 0) state \(state)")
        } else {
            let (listener, port) = listen()
            try host.keepAcrossRestart(FileDescriptor(rawValue: listener), as: "listener", state: [1, 2])
            Probe.say("port \(port)")
            let result = arguments[0] == "seteuid" ? seteuid(65_534) : setuid(65_534)
            guard result == 0 else { return Probe.say("still user \(geteuid())") }
        }
        // The second one has to hand over what it took over.
        guard host.restarts < 2 else { return host.close() }
        host.perform { Fault.wildPointer.commit() }
        host.run()
    }

    /// Executes a program with a table of kept descriptors, records and a place of the store that it has made up, for that very process:
    /// `PROGRAM USER STORE`.
    static func madeUpTable(_ arguments: [String]) throws {
        guard let user = uid_t(arguments[1]), setuid(user) == 0 else { return Probe.say("still user \(geteuid())") }
        let (listener, _) = listen()
        let table = try KeptTable()
        try table.keep(KeptEntry(descriptor: listener, state: [1, 2]), as: "listener")
        for descriptor in [listener, table.descriptor] { _ = fcntl(descriptor, F_SETFD, 0) }
        setenv("HOLDFAST_PID", "\(getpid())", 1)
        setenv("HOLDFAST_RESTARTS", "1", 1)
        setenv("HOLDFAST_KEPT_TABLE", "\(table.descriptor)", 1)
        let spool = Probe.makeUpRecords()
        setenv("HOLDFAST_SPOOL", "\(spool)", 1)
        setenv("PROBE_SPOOL", "\(spool)", 1)
        setenv("HOLDFAST_STORE", arguments[2], 1)
        let names: [String] = [arguments[0], "whose-table", "/dev/null/none"]
        var words = names.map { strdup($0) } + [nil]
        execv(arguments[0], &words)
        Probe.say("not executed: \(errno)")
    }

    /// Says what was taken over, in a process that may have gained rights.
    static func whoseTable(_ host: EventHost) {
        let spool = getenv("PROBE_SPOOL").flatMap { CInt(String(cString: $0)) } ?? -1
        // Another file may have its number since.
        var status = stat()
        let isTaken = fstat(spool, &status) != 0 || status.st_size != Probe.madeUpSize
        let isUsable = host.storeProblem == nil
        Probe.say("kept \(host.keptNames) records \(isTaken) store \(isUsable) user \(geteuid()) group \(getegid())")
        host.close()
    }

    // MARK: Signals

    /// Signals that have arrived and were not delivered when the restart comes.
    static func signals(_ host: EventHost, _ arguments: [String]) throws {
        let queued = __libc_current_sigrtmin() + 1
        var values: [Int64] = []
        guard host.restarts == 0 else {
            // What waits comes as it is observed, so that this is before that.
            try host.onSignal(queued) { event in values.append(event.value) }
            try host.onSignal(SIGTERM) { event in
                Probe.say("TERM from self \(event.senderPid == getpid()) code \(event.code)")
                host.stop()
            }
            host.run()
            Probe.say("values \(values == (0..<50).map { Int64($0) }) \(values.count)")
            return host.close()
        }
        try host.onSignal(queued) { _ in Probe.say("too early") }
        try host.onSignal(SIGTERM) { _ in Probe.say("too early") }
        host.perform {
            for value in 0..<50 { sigqueue(getpid(), queued, sigval(sival_ptr: .init(bitPattern: value))) }
            kill(getpid(), SIGTERM)
            if arguments[0] == "fault" { Fault.wildPointer.commit() } else { host.restart() }
        }
        host.run()
    }

    /// Restarts 15 times while somebody sends SIGUSR1 all the time, then waits for SIGTERM.
    static func stormed(_ host: EventHost, _ arguments: [String]) throws {
        let (listener, _) = listen()
        // So many that the restart, which looks at each, takes a while.
        for number in 0..<2000 { try host.keepAcrossRestart(FileDescriptor(rawValue: listener), as: "\(number)") }
        try host.onSignal(SIGUSR1) { _ in }
        try host.onSignal(SIGTERM) { _ in host.stop() }
        Probe.say(host.restarts == 0 ? "ready" : "again")
        if host.restarts < 15 { host.performRestart(by: arguments[0]) } else { Probe.say("done") }
        host.run()
    }
}
