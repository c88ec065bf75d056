import Glibc
import RecoveryTestSupport
import RunLoops
import TestSupport
import Testing

/// Serialized, because the default handler is the process's.
///
/// Other tests' faults reach it, too, so that it looks at labels.
@Suite("The default abandon handler", .serialized, .timeLimit(.minutes(10)))
struct AbandonHandlerTests {
    /// Runs `body` while callouts with a label are noted by the default handler, with whether that was on the loop's thread.
    private func noting(_ label: String, _ body: (Trace) throws -> Void) throws -> [String] {
        let trace = Trace()
        HostRunLoop.setDefaultAbandonHandler { callout in
            callout.stack.bury()
            guard callout.label == label else { return }
            trace.add("default \(callout.loop.isCurrent) \(callout.kind)")
        }
        defer { HostRunLoop.setDefaultAbandonHandler(nil) }
        try body(trace)
        return trace.entries
    }

    @Test("It is told of a loop without a handler of its own, and of no other")
    func ownFirst() throws {
        let entries = try noting("own first") { trace in
            try onNewThread { loop in
                loop.setAbandonHandler { _ in trace.add("own \(loop.isCurrent)") }
                loop.performWithoutWaking(label: "own first") {
                    loop.setAbandonHandler(nil)
                    hf_test_abandon_callout()
                }
                loop.performWithoutWaking(label: "own first") {
                    loop.setAbandonHandler { _ in trace.add("own") }
                    hf_test_abandon_callout()
                }
                loop.run(in: .default, for: .zero)
            }
        }
        #expect(entries == ["default true block", "own"])
    }

    @Test("It is told of the loops of LoopThreads, of their prepare closures, and of background performs")
    func threads() throws {
        let entries = try noting("told") { trace in
            let worker = try HostRunLoop.LoopThread(name: "told") { _ in hf_test_abandon_callout() }
            // After the prepare closure: the thread lives.
            #expect(throws: HostRunLoop.PerformError.abandoned) {
                try worker.loop.performAndWait(label: "told") { hf_test_abandon_callout() }
            }
            worker.stop()
            worker.join()
            try HostRunLoop.performInBackground(label: "told") { hf_test_abandon_callout() }
            let deadline = Deadline()
            while trace.entries.count < 3, !deadline.hasPassed { sched_yield() }
        }
        #expect(entries == Array(repeating: "default true block", count: 3))
    }

    @Test("A loop's own handler is released with its thread, with what it refers to: the loop and its descriptors")
    func released() throws {
        weak var loop: HostRunLoop?
        try {
            let thread = NewThread { loop in
                // As in RunLoop.md: it refers to the loop.
                loop.setAbandonHandler { callout in
                    callout.stack.bury()
                    loop.wakeUp()
                }
            }
            loop = thread.loop
            try thread.join()
        }()
        #expect(loop == nil)
    }

    @Test("A handler that is set when the thread has ended is not kept: nothing faults there any more")
    func tooLate() throws {
        weak var loop: HostRunLoop?
        try {
            let ended = try onNewThread { $0 }
            loop = ended
            ended.setAbandonHandler { _ in ended.wakeUp() }
        }()
        #expect(loop == nil)
    }
}
