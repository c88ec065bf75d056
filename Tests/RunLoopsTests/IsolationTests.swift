import Glibc
import RunLoops
import SystemPackage
import TestSupport
import Testing

/// Closures belong to the actor in whose code they are written, and run on its thread only.
@Suite("Whose code a closure is", .timeLimit(.minutes(10)))
struct IsolationTests {
    /// State that never leaves the thread of a loop.
    private actor Worker {
        private let loop: HostRunLoop
        private var entries: Set<String> = []
        private var done: CheckedContinuation<Set<String>, Never>?
        private var items: [HostRunLoop.Item] = []

        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        init(on loop: HostRunLoop) { self.loop = loop }

        private func note(_ entry: String, of wanted: Int) {
            entries.insert(entry)
            guard entries.count == wanted else { return }
            done?.resume(returning: entries)
            done = nil
        }

        /// Has everything called that a loop can call, and returns who was.
        func callEverything(_ descriptor: CInt) async -> Set<String> {
            let count = 10
            let timer = HostRunLoop.Timer(label: "timer", after: .zero) { self.note($0.label, of: count) }
            let source = HostRunLoop.Source(label: "source") { source in self.note(source.label, of: count) }
            let observer = HostRunLoop.Observer(label: "observer", activities: .beforeTimers) { observer, _ in
                self.note(observer.label, of: count)
                observer.invalidate()
            }
            let port = HostRunLoop.PortSource(label: "port", descriptor: FileDescriptor(rawValue: descriptor)) {
                port,
                _ in
                self.note(port.label, of: count)
                port.invalidate()
            }
            let commands = HostRunLoop.CommandSource<String>(label: "commands") { source, command in
                self.note(command, of: count)
                source.invalidate()
            }
            let weakly = HostRunLoop.Timer(label: "target", after: .zero, target: self) { _, timer in
                self.note(timer.label, of: count)
            }
            // A port that is known as an item only is added without `try`.
            items = [timer, source, observer, port, commands, weakly]
            for item in items { #expect(loop.add(item) == .added) }
            source.signal()
            commands.send("command")
            loop.performWithoutWaking { self.note("perform", of: count) }
            loop.perform { self.note("enqueue", of: count) }
            loop.perform(after: .zero) { self.note("delayed", of: count) }
            let scope = loop.addPassScope(label: "scope") {
                self.note("scope", of: count)
            } leave: { _ in
            }
            defer { scope.invalidate() }
            return await withCheckedContinuation { done = $0 }
        }
    }

    @Test("Closures of an actor on a loop's thread use its state, whatever calls them")
    func actorOfLoop() async throws {
        let thread = try HostRunLoop.LoopThread(name: "worker")
        let pipe = TestPipe()
        pipe.fill()
        let called = await Worker(on: thread.loop).callEverything(pipe.readEnd)
        #expect(
            called == [
                "timer", "source", "observer", "port", "command", "target", "perform", "enqueue", "delayed", "scope",
            ]
        )
        thread.stop()
        thread.join()
    }

    @Test("Closures of the main actor run in the main loop, and use its state")
    func mainActor() throws {
        let run = try ProgramRun.run(BuiltProduct.path(of: "main-loop-probe"), ["isolation"])
        #expect(run.end == .exited(0), "\(run.errors.suffix(1000))")
        #expect(run.output == "perform 1\nsource 2\ntimer 3\n")
    }

    @Test("A closure of the main actor in another loop ends the process, and says what to do", arguments: 0..<4)
    func mainActorElsewhere(_ form: Int) async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [form] in
            let thread = try HostRunLoop.LoopThread(name: "other")
            switch form {
            case 0: thread.loop.add(HostRunLoop.Timer(label: "mine", after: .seconds(1000)) { @MainActor _ in })
            case 1: thread.loop.add(HostRunLoop.Source(label: "mine") { @MainActor _ in }, to: .common)
            case 2: thread.loop.perform(label: "mine") { @MainActor in }
            default: thread.loop.add(try HostRunLoop.MessagePort(label: "mine") { @MainActor _ in } as HostRunLoop.Item)
            }
        }
        let errors = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(errors.contains("the closure \"mine\" belongs to MainActor"))
        #expect(errors.contains("or use HostRunLoop.main"))
    }

    @Test("A closure of an actor that has another executor ends the process")
    func actorElsewhere() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            actor Stranger {
                func join(_ loop: HostRunLoop) {
                    loop.add(HostRunLoop.Timer(label: "mine", after: .seconds(1000)) { _ in _ = self })
                }
            }
            await Stranger().join(try HostRunLoop.LoopThread(name: "other").loop)
        }
        let errors = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(errors.contains("the closure \"mine\" belongs to Stranger"))
        #expect(errors.contains("unownedExecutor is that loop's"))
    }

    @Test("A closure of a nonisolated function belongs to nobody")
    func nobody() throws {
        let thread = try HostRunLoop.LoopThread(name: "other")
        #expect(thread.loop.add(HostRunLoop.Timer(label: "mine", after: .seconds(1000)) { _ in }) == .added)
        #expect(try thread.loop.performAndWait { 42 } == 42)
        thread.stop()
        thread.join()
    }
}
