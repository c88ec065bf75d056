import Dispatch
import Glibc
import RunLoops
import Synchronization
import SystemPackage

/// What a process does with its loops when it has no descriptor left, and when it has some again.
struct DescriptorScenario {
    private var loop: HostRunLoop { .main }

    /// Takes every descriptor that the process may have.
    private func takeAll() -> [CInt] {
        var limit = rlimit(rlim_cur: 64, rlim_max: 64)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        var taken: [CInt] = []
        while case let descriptor = dup(STDIN_FILENO), descriptor >= 0 { taken.append(descriptor) }
        return taken
    }

    func play() {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0, write(ends[1], "x", 1) == 1 else { exit(1) }
        let server: HostRunLoop.MessagePort
        do {
            server = try HostRunLoop.MessagePort(label: "server") { _ in }
        } catch {
            exit(2)
        }
        let taken = takeAll()
        say("main \(loop.isCurrent) \(loop.run(in: .default, for: .milliseconds(1)))")
        withoutDescriptors()
        refusals(server, ends[0])
        background()
        for descriptor in taken { close(descriptor) }
        say("descriptors again")
        withDescriptors(ends[0])
    }

    /// What takes no descriptor of its own.
    private func withoutDescriptors() {
        let loop = loop
        var line = "mode"
        let fired = Fired()
        let timer = HostRunLoop.Timer(label: "t", after: .milliseconds(2)) { _ in fired.value = "timer" }
        line += " \(loop.add(timer, to: "new") == .added)"
        let result = loop.run(in: "new", for: .seconds(50))
        say("\(line) \(fired.value) \(result)")
        loop.performWithoutWaking(in: "blocks") { fired.value = "block" }
        // After the last block the pass still sleeps.
        let first = loop.run(in: "blocks", for: .zero)
        say("\(first == .timedOut ? fired.value : "") \(loop.run(in: "blocks", for: .zero))")
        loop.add(HostRunLoop.Timer(label: "t", after: .milliseconds(5)) { _ in }, to: "late")
        let early = loop.waitUntilAnyModeIsReady(["none", "blocks"], for: .milliseconds(2))
        say("wait \(early) \(loop.waitUntilAnyModeIsReady(["none", "late"], for: .seconds(50)))")
    }

    /// What is refused, with an error.
    private func refusals(_ server: HostRunLoop.MessagePort, _ descriptor: CInt) {
        do {
            _ = try HostRunLoop.LoopThread(name: "refused") { _ in say("never") }
        } catch {
            say("thread \(type(of: error)) \(error == .tooManyOpenFiles)")
        }
        do {
            try loop.add(
                HostRunLoop.PortSource(label: "p", descriptor: FileDescriptor(rawValue: descriptor)) { _, _ in },
                to: "ports"
            )
        } catch {
            let isNoResources = error.code == .noResources
            say("port \(isNoResources ? "noResources" : "\(error)") \(error.underlyingError == .tooManyOpenFiles)")
        }
        do {
            _ = try server.sendRight.request(.init(type: 1), replyWithin: .seconds(50))
        } catch {
            let isSystem = error.code == .system
            say("request \(isSystem ? "system" : "\(error)") \(error.underlyingError == .tooManyOpenFiles)")
        }
    }

    /// A thread whose loop has no descriptors at all; others wake it and stop it.
    private func background() {
        let isOver = Fired()
        do {
            try HostRunLoop.performInBackground(label: "background") {
                let loop = HostRunLoop.current
                loop.add(HostRunLoop.Timer(label: "t", after: .milliseconds(2)) { _ in isOver.value += " timer" })
                loop.add(HostRunLoop.Source(label: "idle") { _ in })
                let stopper = DispatchQueue(label: "stopper")
                stopper.async {
                    while isOver.value.isEmpty || !loop.isWaiting { sched_yield() }
                    loop.stop()
                }
                let result = loop.run(in: .default, for: .seconds(50))
                isOver.value += " \(result)"
            }
        } catch {
            say("\(error)")
        }
        while isOver.value.split(separator: " ").count < 2 { sched_yield() }
        say("background\(isOver.value)")
    }

    /// The same loop and the same modes, later.
    private func withDescriptors(_ descriptor: CInt) {
        let port = HostRunLoop.PortSource(label: "p", descriptor: FileDescriptor(rawValue: descriptor)) { _, _ in }
        do {
            try loop.add(port, to: "new")
            say("port \(loop.run(in: "new", for: .seconds(50), returnAfterSourceHandled: true))")
            port.invalidate()
            let served = Fired()
            DispatchQueue.main.async { served.value = "main queue" }
            let result = loop.run(in: .default, for: .seconds(50), returnAfterSourceHandled: true)
            say("\(served.value) \(result)")
            let thread = try HostRunLoop.LoopThread(name: "thread")
            say("thread \(try thread.loop.performAndWait { 42 })")
            thread.stop()
        } catch {
            say("\(error)")
        }
    }
}

/// Text that threads share.
private final class Fired: Sendable {
    private let text = Mutex("")

    var value: String {
        get { text.withLock { $0 } }
        set { text.withLock { $0 = newValue } }
    }
}
