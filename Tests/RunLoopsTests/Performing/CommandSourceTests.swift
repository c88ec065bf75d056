import Glibc
import RecoveryTestSupport
import RunLoops
import Synchronization
import Testing

@Suite("Command sources", .timeLimit(.minutes(10)))
struct CommandSourceTests {
    private typealias Commands = HostRunLoop.CommandSource<Int>

    @Test("Commands are handled in order, all of a pass in one callout; those sent meanwhile in the next pass")
    func order() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let sent = Cell<Commands?>(nil)
            let source = Commands(label: "commands") { _, command in
                trace.add("\(command) in pass \(loop.passCount)")
                if command == 2 { sent.value?.send(4) }
            }
            sent.value = source
            source.send(1)
            loop.add(source)
            source.send(2)
            source.send(3)
            loop.run(in: .default, for: .zero)
            trace.add("\(source.count)")
            loop.run(in: .default, for: .zero)
            sent.value = nil
            // Nothing is left, and no signal either: a run that ends after a source has nothing to end for.
            trace.add("\(loop.run(in: .default, for: .zero, returnAfterSourceHandled: true))")
            return trace.entries
        }
        #expect(entries == ["1 in pass 1", "2 in pass 1", "3 in pass 1", "1", "4 in pass 2", "timedOut"])
    }

    @Test("A fault costs the command that faulted; the others are handled")
    func faults() throws {
        let handled = try onNewThread { loop in
            let trace = Trace()
            let source = Commands(label: "commands") { _, command in
                if command % 3 == 0 { hf_test_abandon_callout() }
                trace.add("\(command)")
            }
            loop.add(source)
            for command in 1...9 { source.send(command) }
            while source.count > 0 {
                loop.run(in: .default, for: .zero)
            }
            return trace.entries
        }
        #expect(handled == ["1", "2", "4", "5", "7", "8"])
    }

    @Test("Commands wake a loop that sleeps, in whichever mode it has the source")
    func wakes() throws {
        let thread = try HostRunLoop.LoopThread(name: "server")
        let loop = thread.loop
        let trace = Trace()
        let source = Commands(label: "commands") { trace.add("\($1) \(loop.currentMode?.rawValue ?? "none")") }
        loop.addCommonMode("x")
        waitUntilAsleep(loop)
        source.send(1)
        // Added while the loop sleeps: what waits already is handled.
        loop.add(source, to: .common)
        while trace.entries.count < 1 { sched_yield() }
        loop.perform { loop.run(in: "x", for: .seconds(50)) }
        while loop.currentMode != "x" || !loop.isWaiting { sched_yield() }
        source.send(2)
        while trace.entries.count < 2 { sched_yield() }
        #expect(trace.entries == ["1 default", "2 x"])
        thread.stop()
        thread.join()
        // The loop is gone, the source is not.
        #expect(source.isValid && source.send(3) == .queued)
    }

    @Test("With a capacity, what is too much is refused")
    func capacity() throws {
        try onNewThread { loop in
            let source = Commands(label: "commands", capacity: 2) { _, _ in }
            #expect((1...3).map { source.send($0) } == [.queued, .queued, .full])
            loop.add(source)
            #expect(loop.contains(source))
            loop.run(in: .default, for: .zero)
            #expect(source.send(4) == .queued)
        }
    }

    @Test("A command that is refused is released when its source can be used")
    func refusal() throws {
        final class Load: Sendable {
            let source: HostRunLoop.CommandSource<Load>?
            let counts: Counts
            init(_ source: HostRunLoop.CommandSource<Load>?, _ counts: Counts) {
                (self.source, self.counts) = (source, counts)
            }
            deinit { counts.add(source?.count ?? 0) }
        }
        let source = HostRunLoop.CommandSource<Load>(label: "commands", capacity: 1) { _, _ in }
        let counts = Counts(2)
        source.send(Load(nil, counts))
        #expect(source.send(Load(source, counts)) == .full)
        #expect(counts.all == [0, 1])
        #expect(source.close().count == 1)
        #expect(source.send(Load(source, counts)) == .invalidated)
        #expect(counts.all == [2, 1])
    }

    @Test("A capacity of nothing ends the process", arguments: [0, -1])
    func noCapacity(_ capacity: Int) async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [capacity] in
            _ = Commands(label: "commands", capacity: capacity) { _, _ in }
        }
        let errors = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(errors.contains("needs room for at least one command"))
    }

    @Test("When it is invalidated, what was not handled is returned, in order")
    func invalidate() throws {
        try onNewThread { loop in
            let trace = Trace()
            let source = Commands(label: "commands") { trace.add("\($1)") }
            loop.add(source)
            source.send(1)
            loop.run(in: .default, for: .zero)
            for command in 2...4 { source.send(command) }
            #expect(source.close() == [2, 3, 4])
            #expect(source.close() == [])
            #expect(source.send(5) == .invalidated)
            #expect(!source.isValid && loop.isEmpty(.default))
            #expect(trace.entries == ["1"])
        }
    }

    @Test("Invalidated by its own handler, it handles no more")
    func invalidateInside() throws {
        try onNewThread { loop in
            let trace = Trace()
            let rest = Cell<[Int]>([])
            let source = Cell<Commands?>(nil)
            source.value = Commands(label: "commands") { _, command in
                trace.add("\(command)")
                rest.value = source.value?.close() ?? []
            }
            source.value.map { source in
                loop.add(source)
                for command in 1...3 { source.send(command) }
            }
            loop.run(in: .default, for: .zero)
            source.value = nil
            #expect(trace.entries == ["1"])
            #expect(rest.value == [2, 3])
        }
    }

    @Test("What waits behind the command that is handled takes room, and is returned before what came since")
    func drawn() throws {
        try onNewThread { loop in
            let rest = Cell<[Int]>([])
            let results = Cell<[Commands.SendResult]>([])
            let source = Cell<Commands?>(nil)
            source.value = Commands(label: "commands", capacity: 4) { _, command in
                guard let source = source.value else { return }
                if command == 1 { results.value = [5, 6].map { source.send($0) } } else { rest.value = source.close() }
            }
            source.value.map { source in
                loop.add(source)
                for command in 1...4 { source.send(command) }
            }
            loop.run(in: .default, for: .zero)
            source.value = nil
            #expect(results.value == [.queued, .full])
            #expect(rest.value == [3, 4, 5])
        }
    }

    @Test("What a fault leaves behind is returned when the source is invalidated")
    func closedAfterFault() throws {
        try onNewThread { loop in
            let source = Commands(label: "commands") { _, _ in hf_test_abandon_callout() }
            loop.add(source)
            for command in 1...4 { source.send(command) }
            loop.run(in: .default, for: .zero)
            source.send(5)
            #expect(source.count == 4)
            #expect(source.close() == [2, 3, 4, 5])
        }
    }

    @Test("A run that is nested in the handler goes on with the next commands")
    func nested() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let source = Commands(label: "commands") { _, command in
                trace.add("begin \(command)")
                if command == 1 { loop.run(in: .default, for: .zero) }
                trace.add("end \(command)")
            }
            loop.add(source)
            for command in 1...3 { source.send(command) }
            for _ in 0..<2 { loop.run(in: .default, for: .zero) }
            return trace.entries
        }
        #expect(entries == ["begin 1", "begin 2", "end 2", "begin 3", "end 3", "end 1"])
    }

    @Test("Two loops share one source: each command is handled exactly once, in bounded memory, whoever sends")
    func twoLoops() throws {
        let perSender = 4000
        let threads = [try HostRunLoop.LoopThread(name: "one"), try HostRunLoop.LoopThread(name: "two")]
        let handled = Counts(3 * perSender)
        let source = Commands(label: "commands", capacity: 64) { _, command in handled.add(command) }
        for thread in threads { thread.loop.add(source, to: .common) }
        let senders = (0..<3).map { sender in
            NewThread { _ in
                for number in 0..<perSender {
                    while source.send(sender * perSender + number) == .full { sched_yield() }
                }
            }
        }
        for sender in senders { try sender.join() }
        while source.count > 0 { sched_yield() }
        for thread in threads {
            thread.stop()
            thread.join()
        }
        #expect(handled.all.allSatisfy { $0 == 1 })
    }

    @Test("While a handler takes long, another loop that has the source handles the rest")
    func longHandler() throws {
        let threads = [try HostRunLoop.LoopThread(name: "one"), try HostRunLoop.LoopThread(name: "two")]
        let rounds = 2000
        let isHandled = Counts(2 * rounds)
        let source = Commands(label: "commands") { _, command in
            isHandled.add(command)
            // The first of a round lasts until the second was handled, which only the other loop can do.
            if command % 2 == 0 { while isHandled[command + 1] == 0 { sched_yield() } }
        }
        for thread in threads { thread.loop.add(source, to: .common) }
        for round in 0..<rounds {
            source.send(2 * round)
            source.send(2 * round + 1)
            while isHandled[2 * round] == 0 || isHandled[2 * round + 1] == 0 { sched_yield() }
        }
        for thread in threads {
            thread.stop()
            thread.join()
        }
        #expect(isHandled.all.allSatisfy { $0 == 1 })
    }

    @Test("The order is that of sending, however many wait and however many are taken at once")
    func manySizes() throws {
        let handled = try onNewThread { loop in
            let numbers = Cell<[Int]>([])
            let source = Commands(label: "commands") { _, command in numbers.value.append(command) }
            loop.add(source)
            var next = 0
            for most in [1, 15, 16, 17, 40, 5000, 3, 1024, 1025, 2] {
                // What the handler sends stays for the next pass: the oldest is then in the middle of the memory.
                loop.performWithoutWaking { source.send(-1) }
                for _ in 0..<most {
                    source.send(next)
                    next += 1
                }
                loop.run(in: .default, for: .zero)
            }
            loop.run(in: .default, for: .zero)
            #expect(source.count == 0)
            return numbers.value
        }
        #expect(handled.count { $0 == -1 } == 10)
        #expect(handled.filter { $0 >= 0 } == Array(0..<handled.count - 10))
    }

    @Test("Each command is released once: handled, returned when the source is closed, or dropped with it")
    func releases() throws {
        final class Load: Sendable {
            static let alive = Atomic<Int>(0)
            init() { Self.alive.wrappingAdd(1, ordering: .relaxed) }
            deinit { Self.alive.wrappingSubtract(1, ordering: .relaxed) }
        }
        try onNewThread { loop in
            for count in [0, 1, 16, 100, 3000] {
                var source: HostRunLoop.CommandSource<Load>? = .init(label: "commands") { _, _ in }
                if let source { loop.add(source) }
                for _ in 0..<count { source?.send(Load()) }
                #expect(Load.alive.load(ordering: .relaxed) == count)
                loop.run(in: .default, for: .zero)
                #expect(Load.alive.load(ordering: .relaxed) == 0)
                for _ in 0..<count { source?.send(Load()) }
                #expect(source?.close().count == count)
                #expect(Load.alive.load(ordering: .relaxed) == 0)
                source = .init(label: "commands") { _, _ in }
                for _ in 0..<count { source?.send(Load()) }
                source = nil
                #expect(Load.alive.load(ordering: .relaxed) == 0)
            }
        }
    }
}

/// How often each number was counted, by any thread.
private final class Counts: Sendable {
    private let storage: Mutex<[Int]>

    init(_ count: Int) {
        storage = Mutex(Array(repeating: 0, count: count))
    }

    func add(_ number: Int) { storage.withLock { $0[number] += 1 } }

    subscript(number: Int) -> Int { storage.withLock { $0[number] } }

    var all: [Int] { storage.withLock { $0 } }
}
