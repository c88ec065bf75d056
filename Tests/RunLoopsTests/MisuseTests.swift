import Glibc
import RunLoops
import SystemPackage
import TestSupport
import Testing

@Suite("Misuse", .timeLimit(.minutes(10)))
struct MisuseTests {
    private typealias Timer = HostRunLoop.Timer
    private typealias Observer = HostRunLoop.Observer

    // MARK: Adding

    @Test("Adding tells: added, there already, or invalid")
    func addResults() throws {
        let results = try onNewThread { loop -> [HostRunLoop.AddResult] in
            let source = HostRunLoop.Source(label: "s") { _ in }
            let timer = Timer(label: "t", after: .seconds(50)) { _ in }
            let observer = Observer(label: "o", activities: .all) { _, _ in }
            let pipe = TestPipe()
            let port = pipe.portSource("p") { _ in }
            var results: [HostRunLoop.AddResult] = []
            for _ in 0..<2 {
                results += [loop.add(source), loop.add(timer), loop.add(observer), try loop.add(port)]
            }
            for item in [source.invalidate, timer.invalidate, observer.invalidate, port.invalidate] { item() }
            results += [loop.add(source), loop.add(timer), loop.add(observer), try loop.add(port)]
            #expect(loop.isEmpty(.default))
            return results
        }
        let each = 4
        #expect(results.prefix(each).allSatisfy { $0 == .added })
        #expect(results.dropFirst(each).prefix(each).allSatisfy { $0 == .alreadyThere })
        #expect(results.dropFirst(2 * each).allSatisfy { $0 == .invalidItem })
    }

    @Test("Adding to the common modes tells the same, and is new until it is among the common items")
    func addToCommonModes() throws {
        let results = try onNewThread { loop -> [HostRunLoop.AddResult] in
            let timer = Timer(label: "t", after: .seconds(50)) { _ in }
            let results = [
                loop.add(timer, to: .default), loop.add(timer, to: .common), loop.add(timer, to: .common),
            ]
            loop.remove(timer, from: .default)
            return results + [loop.add(timer, to: .common), loop.add(timer, to: .common)]
        }
        #expect(results == [.added, .added, .alreadyThere, .added, .alreadyThere])
    }

    @Test("A timer or an observer of another loop is not added, and works where it is")
    func otherLoop() throws {
        let trace = Trace()
        try onNewThread { first in
            let timer = Timer(label: "t", after: .zero) { _ in trace.add("timer") }
            let observer = Observer(label: "o", activities: .entry) { _, _ in trace.add("observer") }
            let source = HostRunLoop.Source(label: "s") { _ in }
            #expect(first.add(timer) == .added)
            #expect(first.add(observer, to: .common) == .added)
            #expect(first.add(source) == .added)
            try onNewThread { second in
                for mode in [HostRunLoop.Mode.default, .common] {
                    #expect(second.add(timer, to: mode) == .inAnotherLoop)
                    #expect(second.add(observer, to: mode) == .inAnotherLoop)
                    #expect(!second.contains(timer, in: mode))
                    #expect(!second.contains(observer, in: mode))
                }
                // A source may be in many loops.
                #expect(second.add(source) == .added)
            }
            first.run(for: .zero)
            #expect(trace.entries == ["observer", "timer"])
            // Out of every mode of one, it may go to another.
            first.remove(observer, from: .common)
            #expect(try onNewThread { $0.add(observer) } == .added)
        }
    }

    @Test("Nothing is added to a loop whose thread has ended")
    func endedLoop() throws {
        let loop = try onNewThread { $0 }
        #expect(loop.add(Timer(label: "t", after: .zero) { _ in }) == .loopEnded)
        #expect(loop.add(Observer(label: "o", activities: .all) { _, _ in }, to: .common) == .loopEnded)
        #expect(loop.add(HostRunLoop.Source(label: "s") { _ in }) == .loopEnded)
        loop.performWithoutWaking {}
        loop.wakeUp()
        loop.stop()
        #expect(loop.isEmpty(.default))
    }

    // MARK: Descriptors

    @Test("A closed descriptor, a regular file and a directory are refused with a typed error")
    func refusedDescriptors() throws {
        let codes = try onNewThread { loop -> [HostRunLoop.Mode: [RunLoopError.Code]] in
            let file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
            let folder = open("/", O_RDONLY | O_CLOEXEC | O_DIRECTORY)
            defer {
                close(file)
                close(folder)
            }
            var codes: [HostRunLoop.Mode: [RunLoopError.Code]] = [:]
            for mode: HostRunLoop.Mode in [.default, .common] {
                for descriptor: CInt in [-1, file, folder] {
                    let port = HostRunLoop.PortSource(label: "p", descriptor: FileDescriptor(rawValue: descriptor)) {
                        _,
                        _ in
                    }
                    do throws(RunLoopError) {
                        try loop.add(port, to: mode)
                    } catch {
                        codes[mode, default: []].append(error.code)
                    }
                    #expect(!loop.contains(port, in: mode))
                }
            }
            #expect(loop.isEmpty(.default))
            return codes
        }
        let expected = [RunLoopError.Code.descriptorNotOpen, .descriptorNotPollable, .descriptorNotPollable]
        #expect(codes[.default] == expected)
        #expect(codes[.common] == expected)
    }

    @Test("A descriptor that is closed behind the loop's back, and its number used again, serves the new source only")
    func reusedDescriptor() throws {
        let trace = Trace()
        try onNewThread { loop in
            let first = TestPipe()
            let second = TestPipe()
            let number = dup(first.readEnd)
            let old = HostRunLoop.PortSource(label: "old", descriptor: FileDescriptor(rawValue: number)) { _, _ in
                trace.add("old")
            }
            try loop.add(old)
            // In one step: other tests open descriptors meanwhile.
            #expect(dup2(second.readEnd, number) == number)
            defer { close(number) }
            let new = HostRunLoop.PortSource(label: "new", descriptor: FileDescriptor(rawValue: number)) { _, _ in
                second.takeByte()
                trace.add("new")
            }
            #expect(try loop.add(new) == .added)
            // What the old one does to its registration must not hit that of the new one.
            old.interest = [.readable, .writable]
            old.interest = []
            loop.remove(old)
            old.invalidate()
            second.fill()
            #expect(loop.run(for: .seconds(20), returnAfterSourceHandled: true) == .handledSource)
            #expect(trace.entries == ["new"])
        }
    }

    // MARK: Dates

    @Test("Seconds that are not finite are an error; what overflows is the end of time on that side")
    func oddDates() throws {
        typealias Instant = HostRunLoop.Instant
        for seconds in [Double.nan, .signalingNaN, .infinity, -.infinity] {
            #expect(throws: RunLoopError(code: .invalidDate)) { try Duration(seconds: seconds) }
        }
        #expect(try Duration(seconds: 1.5) == .milliseconds(1500))
        #expect(try Duration(seconds: -0.25) == .milliseconds(-250))
        #expect(try Duration(seconds: 0x1p63) == .nanoseconds(Int64.max))
        #expect(try Duration(seconds: -1e300) == .nanoseconds(Int64.min))
        #expect(try Duration(seconds: .leastNonzeroMagnitude) == .zero)
        #expect(Instant.now.advanced(by: .seconds(10_000_000_000)) == .distantFuture)
        #expect(Instant.distantPast.advanced(by: .seconds(-1)) == .distantPast)
        #expect(Instant.distantPast.duration(to: .distantFuture) == .nanoseconds(Int64.max))
        #expect(Instant.distantPast < .now && Instant.now < .distantFuture)
    }

    @Test(
        "Huge timeouts neither overflow nor fire: libuv's timer_huge_timeout and timer_huge_repeat",
        arguments: [Duration.milliseconds(1 << 48), .milliseconds(UInt64.max), .nanoseconds(Int64.max)]
    )
    func hugeTimeouts(_ huge: Duration) throws {
        let trace = Trace()
        try onNewThread { loop in
            let late = Timer(label: "late", after: huge) { _ in trace.add("late") }
            let rare = Timer(label: "rare", after: .milliseconds(1), repeating: huge) { _ in trace.add("rare") }
            for timer in [late, rare] {
                loop.add(timer)
            }
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(late.nextFireDate > .now.advanced(by: .seconds(1 << 32)))
            #expect(rare.nextFireDate > .now.advanced(by: .seconds(1 << 32)))
            late.nextFireDate = .distantFuture
            #expect(loop.run(for: .milliseconds(1)) == .timedOut)
            // A limit of that length is none: the run ends only by the stop.
            loop.performWithoutWaking { loop.stop() }
            #expect(loop.run(for: huge) == .stopped)
        }
        #expect(trace.entries == ["rare"])
    }

    // MARK: Running

    @Test("A run in the common modes ends at once, and the process says so once")
    func commonModes() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            synchronously {
                let loop = HostRunLoop.current
                loop.add(HostRunLoop.Source(label: "s") { _ in }, to: .common)
                #expect(loop.run(in: .common, for: .seconds(50)) == .finished)
                #expect(!loop.run(in: .common, before: .distantFuture))
                #expect(loop.limitDate(in: .common) == nil)
                #expect(!loop.allModes.contains(.common))
            }
        }
        let errors = try errors(of: result)
        #expect(errors.components(separatedBy: "a run in the common modes ends at once").count == 2)
        #expect(errors.contains("Run in one of them"))
    }

    @Test("A run on another thread ends the process, and says what to do")
    func otherThread() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try synchronously {
                let loop = HostRunLoop.current
                try onNewThread { _ in _ = loop.run(for: .zero) }
            }
        }
        guard case .signal = try #require(result).exitStatus else {
            Issue.record("it ended with \(String(describing: result?.exitStatus))")
            return
        }
        let errors = try errors(of: result)
        #expect(errors.contains("can only be run on its own thread"))
        #expect(errors.contains("HostRunLoop.current"))
    }

    private func errors(of result: ExitTest.Result?) throws -> String {
        String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    }
}

extension String {
    /// Splits at every occurrence of a text.
    fileprivate func components(separatedBy separator: String) -> [Substring] {
        split(separator: separator, omittingEmptySubsequences: false)
    }
}
