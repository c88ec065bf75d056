import Dispatch
import FaultInjection
import Glibc
import Holdfast
import Synchronization
import SystemPackage

/// Threads that stand where a report is to find them, while another one faults.
@MainActor
enum SampleScenarios {
    /// `VARIANT FAULT`: what is special, and which fault the main loop commits.
    static func run(_ store: String, _ arguments: [String]) throws {
        guard arguments.count == 2, let fault = Fault(rawValue: arguments[1]) else { exit(64) }
        let variant = arguments[0]
        if variant == "taken" { signal(SIGSTKFLT) { _ in } }
        var configuration = EventHost.Configuration.conservative
        // Reports are counted, and a busy machine makes stalls.
        configuration.stallPolicy = nil
        configuration.store = store
        configuration.afterResume = .keepServing
        configuration.budget = .generous
        configuration.advanced.earlyEnds = nil
        // What is looked at is not how long a verdict takes on a busy machine.
        configuration.advanced.verdictDeadline = .seconds(60)
        configuration.advanced.capturesThreads = variant != "off"
        configuration.advanced.capturesMemory = variant == "memory"
        let host = try EventHost(configuration)
        guard host.restarts == 0 else {
            Probe.say("restarted \(host.restarts)")
            host.close()
            return
        }
        let crowd = Crowd()
        switch variant {
        case "deaf":
            crowd.start("sample-deaf") { $0.block() }
            crowd.start("sample-read") { $0.read() }
        case "many": for number in 1...200 { crowd.start("sample-\(number)") { $0.wait() } }
        case "looks", "loop":
            let thread = try HostRunLoop.LoopThread(name: "sample-loop")
            thread.loop.performForNobody(label: "held up") { crowd.waitInCallout() }
            thread.loop.wakeUp()
            crowd.add(thread)
        default: startAll(crowd)
        }
        if variant == "looks" { startAll(crowd) }
        crowd.awaitAll()
        if variant == "looks" { LookScenarios.lookAround(from: host.loop) }
        if variant == "descriptors" { host.perform { crowd.useUpDescriptors() } }
        for _ in 0..<(variant == "flood" ? 200 : 1) { host.perform { fault.commit() } }
        host.perform {
            // Sampled after the fault was resumed, and before the report is written.
            crowd.freeDescriptors()
            awaitReport(in: store)
            crowd.release()
            for line in crowd.outcomes { Probe.say(line) }
            host.stop()
        }
        host.run()
        Probe.say("resumed \(host.statistics.resumedFaults)")
        host.close()
    }

    private static func awaitReport(in store: String) {
        while true {
            var found = glob_t()
            defer { globfree(&found) }
            if glob("\(store)/reports/*.json", 0, nil, &found) == 0 { return }
            sched_yield()
        }
    }

    private static func startAll(_ crowd: Crowd) {
        crowd.start("sample-futex") { $0.wait() }
        crowd.start("sample-poll") { $0.poll() }
        crowd.start("sample-read") { $0.read() }
        crowd.start("sample-sleep") { $0.sleep() }
        crowd.start("sample-busy") { $0.spin() }
        crowd.start("sample-sigwait") { $0.awaitSignal() }
        crowd.startWorker()
        crowd.startTask()
    }
}

/// Threads that wait for their release, each in a function of its own.
final class Crowd: Sendable {
    private let expected = Atomic<Int>(0)
    private let arrived = Atomic<Int>(0)
    private let isReleased = Atomic<Bool>(false)
    private let sleepers = Atomic<Int>(0)
    private let state = Mutex(State())
    private let pipe = try! FileDescriptor.pipe()

    private struct State {
        var threads: [pthread_t] = []
        var loops: [HostRunLoop.LoopThread] = []
        /// Threads that will be in a system call soon.
        var waiting: [pid_t] = []
        /// Those that only a signal gets to go on.
        var sleeping: [pthread_t] = []
        /// The one that waits for signals.
        var awaiter: pthread_t?
        var outcomes: [String] = []
        var descriptors: [CInt] = []
    }

    /// What the threads found when they went on.
    var outcomes: [String] { state.withLock { $0.outcomes.sorted() } }

    func start(_ name: String, _ body: @escaping @Sendable (Crowd) -> Void) {
        expected.add(1, ordering: .relaxed)
        let thread = Probe.startThread { [self] in
            // pthread_setname_np(3) is not in the overlay.
            let file = fopen("/proc/thread-self/comm", "we")
            fputs(name, file)
            fclose(file)
            body(self)
        }
        state.withLock { $0.threads.append(thread) }
    }

    func add(_ thread: HostRunLoop.LoopThread) {
        expected.add(1, ordering: .relaxed)
        state.withLock { $0.loops.append(thread) }
    }

    func startWorker() {
        expected.add(1, ordering: .relaxed)
        DispatchQueue(label: "sample").async { self.waitOnWorker() }
    }

    func startTask() {
        expected.add(1, ordering: .relaxed)
        Task.detached { self.waitInTask() }
    }

    /// Waits until every thread is in its function, and in its system call.
    func awaitAll() {
        while arrived.load(ordering: .acquiring) < expected.load(ordering: .acquiring) { sched_yield() }
        for thread in state.withLock({ $0.waiting }) {
            while systemCall(of: thread) == nil { sched_yield() }
        }
    }

    /// Lets all of them go on, and waits for those that are joined.
    func release() {
        isReleased.store(true, ordering: .releasing)
        for _ in 0..<arrived.load(ordering: .acquiring) { _ = try? pipe.writeEnd.writeAll("x".utf8) }
        if let awaiter = state.withLock({ $0.awaiter }) { pthread_kill(awaiter, SIGUSR1) }
        // Those that sleep, until they do no more: one may have looked just before it fell asleep.
        while sleepers.load(ordering: .acquiring) > 0 {
            for thread in state.withLock({ $0.sleeping }) { pthread_kill(thread, SIGUSR2) }
            usleep(1000)
        }
        for thread in state.withLock({ $0.threads }) { pthread_join(thread, nil) }
    }

    /// Counts the calling thread among those that only a signal gets to go on.
    private func beginSleep() {
        // Without SA_RESTART.
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        sigaction(SIGUSR2, &action, nil)
        sleepers.add(1, ordering: .acquiringAndReleasing)
        state.withLock { $0.sleeping.append(pthread_self()) }
    }

    private func endSleep() { sleepers.subtract(1, ordering: .acquiringAndReleasing) }

    /// Opens as many as may be open, but for the few that the probe needs to go on.
    func useUpDescriptors() {
        var limit = rlimit(rlim_cur: 64, rlim_max: 64)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        while case let descriptor = dup(STDERR_FILENO), descriptor >= 0 {
            state.withLock { $0.descriptors.append(descriptor) }
        }
    }

    /// Gives back what was used up.
    func freeDescriptors() {
        for descriptor in state.withLock({ $0.descriptors }) { close(descriptor) }
    }

    /// gettid(2), which the overlay lacks.
    private static let currentThread = unsafeBitCast(
        dlsym(nil, "gettid"),
        to: (@convention(c) () -> pid_t).self
    )

    private func arrive(waits: Bool = true) {
        if waits { state.withLock { $0.waiting.append(Self.currentThread()) } }
        arrived.add(1, ordering: .acquiringAndReleasing)
    }

    private func say(_ outcome: String) {
        state.withLock { $0.outcomes.append(outcome) }
    }

    private func systemCall(of thread: pid_t) -> Int? {
        guard let file = fopen("/proc/self/task/\(thread)/syscall", "re") else { return 0 }
        defer { fclose(file) }
        var number = 0
        let count = withUnsafeMutablePointer(to: &number) { number in
            withVaList([number]) { vfscanf(file, "%ld", $0) }
        }
        return count == 1 && number >= 0 ? number : nil
    }

    private func readByte() -> Int {
        var byte: UInt8 = 0
        return Glibc.read(pipe.readEnd.rawValue, &byte, 1)
    }

    // MARK: Where they are

    // No two have the same instructions: the optimiser would make one of them, with one name.
    @inline(never) func wait() {
        var semaphore = sem_t()
        sem_init(&semaphore, 0, 0)
        beginSleep()
        arrive()
        // Whoever is signalled goes on waiting: this is what a lock does.
        while !isReleased.load(ordering: .acquiring) {
            var end = timespec()
            clock_gettime(CLOCK_REALTIME, &end)
            end.tv_sec += 3600
            sem_timedwait(&semaphore, &end)
        }
        endSleep()
        sem_destroy(&semaphore)
    }

    @inline(never) func poll() {
        var descriptor = pollfd(fd: pipe.readEnd.rawValue, events: Int16(POLLIN), revents: 0)
        arrive()
        var result: CInt
        repeat { result = Glibc.poll(&descriptor, 1, -1) } while result < 0 && errno == EINTR
        say("poll \(result)")
        _ = readByte()
    }

    @inline(never) func read() {
        arrive()
        // SA_RESTART: never interrupted.
        say("read \(readByte())")
    }

    @inline(never) func sleep() {
        beginSleep()
        arrive()
        while !isReleased.load(ordering: .acquiring) {
            var time = timespec(tv_sec: 3600, tv_nsec: 0)
            nanosleep(&time, nil)
        }
        endSleep()
        say("slept")
    }

    /// Takes whatever signal comes, as the thread of a program does that handles them all: what is meant for samples is not for it.
    @inline(never) func awaitSignal() {
        var one = sigset_t()
        sigemptyset(&one)
        sigaddset(&one, SIGUSR1)
        pthread_sigmask(SIG_BLOCK, &one, nil)
        var all = sigset_t()
        sigfillset(&all)
        state.withLock { $0.awaiter = pthread_self() }
        arrive()
        var signal: CInt = 0
        sigwait(&all, &signal)
        say("signal \(signal)")
    }

    @inline(never) func spin() {
        errno = 4711
        arrive(waits: false)
        var isSame = true
        while !isReleased.load(ordering: .acquiring) { isSame = isSame && errno == 4711 }
        say("errno \(isSame ? "kept" : "lost")")
    }

    @inline(never) func waitOnWorker() {
        arrive()
        let byte = readByte()
        precondition(byte != 0)
        say("worker \(byte)")
    }

    @inline(never) func waitInTask() {
        arrive()
        say("task \(readByte())")
        sched_yield()
    }

    @inline(never) func waitInCallout() {
        sched_yield()
        arrive()
        say("callout \(readByte())")
    }

    /// Blocks every signal, as a program may that knows nothing of this one's signal: by the C library's own function.
    @inline(never) func block() {
        typealias Mask = @convention(c) (CInt, UnsafePointer<sigset_t>?, UnsafeMutablePointer<sigset_t>?) -> CInt
        let symbol = dlsym(dlopen("libc.so.6", RTLD_NOW), "pthread_sigmask")
        var all = sigset_t()
        sigfillset(&all)
        precondition(unsafeBitCast(symbol, to: Mask.self)(SIG_BLOCK, &all, nil) == 0)
        arrive()
        say("deaf \(readByte())")
    }
}
