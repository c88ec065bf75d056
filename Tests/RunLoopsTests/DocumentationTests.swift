import Glibc
import LinuxSystem
import RecoveryTestSupport
import RunLoops
import SystemPackage
import TestSupport
import Testing

// What the examples talk about.

actor Counter {
    private let loop: HostRunLoop
    private var count = 0

    init(on loop: HostRunLoop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    func add() -> Int {
        count += 1
        return count
    }
}

actor Meter {
    private let loop: HostRunLoop
    private var ticks = 0

    init(on loop: HostRunLoop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    func start() {
        let timer = HostRunLoop.Timer(label: "meter", after: .zero, repeating: .milliseconds(10)) { timer in
            self.ticks += 1
            if self.ticks == 3 { timer.invalidate() }
        }
        loop.add(timer)
    }
}

extension Meter {
    var reading: Int { ticks }
}

struct Level: HostRunLoop.MessageConvertible {
    static let messageType: UInt32 = 7
    let value: UInt8

    init(_ value: UInt8) { self.value = value }

    init?(messageContent message: HostRunLoop.Message) {
        // It may come from anybody.
        guard message.payload.count == 1 else { return nil }
        value = message.payload[0]
    }

    var messagePayload: [UInt8] { [value] }
}

private final class Connection: Sendable {
    let trace = Trace()

    func ping() { trace.add("ping") }
}

/// The examples of Documentation/RunLoop.md: each is a part of a test here, and the last test compares the two.
@Suite("The examples of the documentation", .timeLimit(.minutes(10)))
struct DocumentationTests {
    /// Runs an example with its own loop, and returns what it printed.
    private func lines(
        _ example: @escaping @Sendable (HostRunLoop, _ print: @escaping @Sendable (String) -> Void) throws -> Void
    ) throws -> [String] {
        let trace = Trace()
        try onNewThread { loop in try example(loop) { trace.add($0) } }
        return trace.entries
    }

    @Test("A timer ticks while the loop runs")
    func beginning() throws {
        let lines = try lines { _, print in
            let loop = HostRunLoop.current
            let tick = HostRunLoop.Timer(label: "tick", after: .milliseconds(100), repeating: .milliseconds(100)) { _ in
                print("tick")
            }
            loop.add(tick)
            loop.run(until: .now.advanced(by: .milliseconds(350)))
        }
        #expect(!lines.isEmpty)
    }

    @Test("A port says what can be read")
    func ports() throws {
        let lines = try lines { loop, print in
            var ends: [CInt] = [0, 0]
            pipe(&ends)
            let reader = FileDescriptor(rawValue: ends[0])
            let input = HostRunLoop.PortSource(label: "input", descriptor: reader) { input, readiness in
                var bytes = [UInt8](repeating: 0, count: 4096)
                let count = read(input.descriptor.rawValue, &bytes, bytes.count)
                print("\(count) bytes, ended: \(readiness.contains(.hangUp))")
                if count == 0 { input.invalidate() }
            }
            try loop.add(input, to: .common)
            write(ends[1], "abc", 3)
            loop.run(for: .zero)
            close(ends[1])
            loop.run(for: .zero)
            #expect(!input.isValid)
            try reader.close()
        }
        #expect(lines == ["3 bytes, ended: false", "0 bytes, ended: true"])
    }

    @Test("Performs run in the order of their numbers, and not when they were cancelled")
    func performs() throws {
        let lines = try lines { loop, print in
            let cache = Connection()
            let report = loop.perform(label: "report") { print("report") }
            loop.perform(order: -1) { print("before it") }
            loop.perform(after: .milliseconds(10)) { print("later") }
            loop.perform(target: cache) { print("never") }
            loop.perform(after: .seconds(3600), target: cache) { print("never, too") }
            loop.cancelPerforms(for: cache)  // 2
            loop.run(until: .now.advanced(by: .milliseconds(50)))
            print("\(report.state)")  // done
        }
        #expect(lines == ["before it", "report", "later", "done"])
    }

    @Test("Work for the default mode waits while another one runs")
    func puttingOff() throws {
        let lines = try lines { loop, print in
            loop.perform(in: "tracking") {
                loop.perform(in: .default) { print("redraw") }
                print("drag")
            }
            loop.run(in: "tracking", for: .zero)  // drag
            loop.run(in: .default, for: .zero)  // redraw
        }
        #expect(lines == ["drag", "redraw"])
    }

    @Test("A closure with a type of its own is for any loop")
    func typedClosure() throws {
        let lines = try lines { _, print in
            let worker = try HostRunLoop.LoopThread(name: "worker")
            let work: @Sendable () -> Void = { print("work") }
            worker.loop.perform(work)
            try worker.loop.performAndWait {}
            worker.stop()
            worker.join()
        }
        #expect(lines == ["work"])
    }

    @Test("A thread with a loop performs, stops and is joined")
    func threads() throws {
        let lines = try lines { _, print in
            let worker = try HostRunLoop.LoopThread(name: "worker") { loop in
                loop.add(HostRunLoop.Source(label: "mine") { _ in })
            }
            let answer = try worker.loop.performAndWait(within: .seconds(60)) { 6 * 7 }
            worker.stop()
            worker.join()
            print("\(answer)")
        }
        #expect(lines == ["42"])
    }

    @Test("An actor on a loop has timers whose closures use its state")
    func actorOfLoop() async throws {
        let worker = try HostRunLoop.LoopThread(name: "worker")
        let meter = Meter(on: worker.loop)
        await meter.start()
        while await meter.reading < 3 { sched_yield() }
        worker.stop()
        worker.join()
    }

    @Test("A background perform has a thread of its own, and answers with a perform")
    func background() throws {
        let lines = try lines { loop, output in
            let print = { @Sendable (line: String) in
                output(line)
                loop.stop()
            }
            try HostRunLoop.performInBackground(label: "index") {
                let count = 6 * 7
                loop.perform { print("\(count)") }
            }
            loop.addIdleSource()
            loop.run()
        }
        #expect(lines == ["42"])
    }

    @Test("Commands are handled in the order in which they were sent")
    func commands() throws {
        let lines = try lines { loop, print in
            enum Command {
                case open(String)
                case close
            }
            let commands = HostRunLoop.CommandSource<Command>(label: "commands", capacity: 1000) { _, command in
                switch command {
                case .open(let name): print("open \(name)")
                case .close: print("close")
                }
            }
            loop.add(commands)
            commands.send(.open("log"))  // From any thread: .queued, .full or .invalidated.
            commands.send(.close)
            loop.run(for: .zero)
        }
        #expect(lines == ["open log", "close"])
    }

    @Test("A port answers requests of other threads, which wait or do not")
    func messagesWithinTheProcess() throws {
        let worker = try HostRunLoop.LoopThread(name: "worker")
        let lines = try lines { loop, print in
            let server = try HostRunLoop.MessagePort(label: "server") { message in
                let answer = HostRunLoop.Message(type: message.type, payload: message.payload.reversed())
                try? message.replyPort?.send(answer, within: .seconds(1))
            }
            try worker.loop.add(server)
            let question = HostRunLoop.Message(type: 1, payload: [1, 2, 3])

            // Waits, in a mode of its own:
            let answer = try server.sendRight.request(question, replyWithin: .seconds(60))
            print("\(answer.payload)")

            // Does not wait:
            try server.sendRight.request(question, replyWithin: .seconds(60), on: loop) { answer in
                switch answer {
                case .success(let message): print("\(message.payload)")
                case .failure(let error): print("\(error)")
                }
            }
            loop.run()

            if try !server.sendRight.sendIfRoom(question) {
                try server.sendRight.whenRoom(on: loop) {
                    _ = try? server.sendRight.sendIfRoom(question)
                }
            }
        }
        worker.stop()
        worker.join()
        #expect(lines == ["[3, 2, 1]", "[3, 2, 1]"])
    }

    @Test("A port listens at an address, and looks at who asks and at what")
    func messagesBetweenProcesses() throws {
        let worker = try HostRunLoop.LoopThread(name: "worker")
        let path = "/tmp/holdfast-documentation-\(getpid()).socket"
        let lines = try lines { _, print in
            let server = try HostRunLoop.MessagePort(label: "server", endpoint: .listening(.path(path))) { message in
                guard message.sender?.userID == geteuid(), let level = message.value(as: Level.self) else { return }
                try? message.replyPort?.send(.init(Level(~level.value)), within: .seconds(1))
            }
            try worker.loop.add(server)
            let right = try HostRunLoop.SendRight(connectingTo: .path(path), within: .seconds(60))
            let answer = try right.request(.init(Level(3)), replyWithin: .seconds(60))
            print("\(answer.value(as: Level.self)?.value ?? 0)")
            server.invalidate()
        }
        worker.stop()
        worker.join()
        #expect(lines == ["252"])
    }

    @Test("A timer with a target does not keep it, and may be late by its tolerance")
    func targetAndTolerance() throws {
        let traces = Trace()
        try onNewThread { loop in
            let connection = Connection()
            let heartbeat = HostRunLoop.Timer(
                label: "heartbeat",
                after: .seconds(30),
                repeating: .seconds(30),
                target: connection
            ) { connection, _ in connection.ping() }
            heartbeat.tolerance = .seconds(3)
            loop.add(heartbeat, to: .common)
            heartbeat.nextFireDate = .now
            loop.run(for: .zero)
            for entry in connection.trace.entries { traces.add(entry) }
        }
        #expect(traces.entries == ["ping"])
    }

    @Test("A scope is renewed before the loop sleeps")
    func passScope() throws {
        let lines = try lines { loop, print in
            loop.addPassScope(label: "pool") {
                print("enter")
            } leave: { _ in
                print("leave")
            }
            let once = HostRunLoop.Timer(label: "once", after: .milliseconds(10)) { _ in
                print("timer")
                loop.stop()
            }
            loop.add(once)
            loop.run()  // enter, leave, enter, timer, leave
        }
        #expect(lines == ["enter", "leave", "enter", "timer", "leave"])
    }

    @Test("Actors and tasks run on a loop")
    func executors() async throws {
        let worker = try HostRunLoop.LoopThread(name: "worker")
        let counter = Counter(on: worker.loop)
        let count = await counter.add()
        let isThere = await Task(executorPreference: worker.loop) { worker.loop.isCurrent }.value
        worker.stop()
        #expect(count == 1)
        #expect(isThere)
    }

    /// Belongs on the main thread, which no test has: what it does is tested in a process of its own (MainLoopTests).
    private func main() {
        Task { @MainActor in
            try? await Task.sleep(for: .seconds(1))
            HostRunLoop.main.stop()
        }
        HostRunLoop.main.run()
    }

    @Test("A loop describes itself, and may copy a flaw")
    func describing() throws {
        let lines = try lines { loop, print in
            loop.add(HostRunLoop.Timer(label: "far", after: .seconds(3600)) { _ in })
            let snapshot = loop.snapshot()
            print(snapshot.description)
            print(snapshot.json)
            loop.strictCF = true
        }
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.contains("far") })
    }

    // MARK: After a fault

    @Test("The default abandon handler is told of any loop")
    func defaultHandler() async {
        // In a process of its own: it is the handler of all loops.
        await #expect(processExitsWith: .success) {
            let trace = Trace()
            let print: @Sendable (String) -> Void = { trace.add($0) }
            HostRunLoop.setDefaultAbandonHandler { callout in
                callout.stack.bury()
                print("\(callout.kind) \(callout.label) \(callout.touched)")
            }
            try onNewThread { loop in
                loop.performWithoutWaking(label: "bad") { hf_test_abandon_callout() }
                loop.run(in: .default, for: .zero)
            }
            precondition(trace.entries == ["block bad []"])
        }
    }

    @Test("A cleanup puts a file back where it was")
    func cleanup() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/data"
        close(open(path, O_CREAT | O_WRONLY, 0o600))
        let isThere = try onNewThread { loop in
            @Sendable func work() { hf_test_abandon_callout() }
            loop.performWithoutWaking(label: "lock") {
                rename(path, path + ".lock")
                let cleanup = HostRunLoop.addCleanup { rename(path + ".lock", path) }
                work()
                rename(path + ".lock", path)
                cleanup.cancel()
            }
            loop.run(in: .default, for: .zero)
            return access(path, F_OK) == 0 && access(path + ".lock", F_OK) != 0
        }
        #expect(isThere)
    }

    @Test("A value that is poisoned can be replaced")
    func poisonable() throws {
        let present = try onNewThread { loop in
            let carried = Carried(value: Poisonable(["bob": 2], name: "sessions"))
            loop.performWithoutWaking { try? carried.value.withValue { _ in hf_test_abandon_callout() } }
            loop.run(in: .default, for: .zero)
            let sessions = carried.value
            if sessions.isPoisoned {
                sessions.replace(with: [:])
            }
            try sessions.withValue { $0["ann", default: 0] += 1 }
            return try sessions.value
        }
        #expect(present == ["ann": 1])
    }

    @Test("An item that faults is out for some time")
    func withdrawal() throws {
        let lines = try lines { loop, print in
            loop.setAbandonHandler { callout in
                callout.stack.bury()
                guard let withdrawal = callout.loop.withdraw(item: callout.item) else { return }
                print("\(withdrawal.kind) \(withdrawal.label) is out")
                loop.perform(after: .milliseconds(10)) { withdrawal.putBack() }
            }
            let isServed = Cell(false)
            let source = HostRunLoop.Source(label: "s") { _ in
                if isServed.value {
                    print("served")
                    loop.stop()
                }
                isServed.value = true
                hf_test_abandon_callout()
            }
            loop.addIdleSource()
            loop.add(source)
            source.signal()
            loop.perform(after: .zero) { source.signal() }
            loop.run(for: .seconds(20))
        }
        #expect(lines.prefix(2) == ["source s is out", "served"])
    }

    @Test("Items with a withheld label stay out until they are put back")
    func withholding() throws {
        let lines = try lines { loop, print in
            let statistics = HostRunLoop.Source(label: "statistics") { _ in }
            loop.withhold(itemsLabelled: ["statistics"])
            print("\(loop.add(statistics))")  // withheld
            for withdrawal in loop.withheldItems { withdrawal.putBack() }
            print("\(loop.contains(statistics))")
        }
        #expect(lines == ["withheld", "true"])
    }

    // MARK: The page

    @Test("Every example of the page is compiled here")
    func page() throws {
        let page = try text("Documentation/RunLoop.md").split(separator: "\n", omittingEmptySubsequences: false)
        let code = normalized(try text("Tests/RunLoopsTests/DocumentationTests.swift").split(separator: "\n"))
        var examples: [[Substring]] = []
        var isInside = false
        for line in page {
            if line == "```swift" {
                isInside = true
                examples.append([])
            } else if line == "```" {
                isInside = false
            } else if isInside {
                examples[examples.count - 1].append(line)
            }
        }
        #expect(examples.count > 10)
        for example in examples {
            let isHere = code.contains(normalized(example))
            #expect(isHere, "\(example.joined(separator: "\n"))")
        }
    }

    /// The lines without their indentation, and without empty ones and imports.
    private func normalized(_ lines: [Substring]) -> String {
        lines.map { $0.drop { $0 == " " } }
            .filter { !$0.isEmpty && !$0.hasPrefix("import ") }
            .joined(separator: "\n")
    }

    private func text(_ path: FilePath) throws -> String {
        let root = FilePath(#filePath).removingLastComponent().removingLastComponent().removingLastComponent()
        let file = try OwnedDescriptor(reading: root.pushing(path), followingLinks: true)
        return String(decoding: try file.readAll(limit: 1 << 20), as: UTF8.self)
    }
}
