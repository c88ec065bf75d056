import CrashCapture
import Glibc
import RunLoops
import Supervision
import Synchronization
import Testing

/// Verdicts as they are spent, and the messages of resumed faults.
@Suite(.timeLimit(.minutes(1))) struct SupervisorTests {
    private static let fault = FaultSummary(signal: SIGILL, code: 2)

    private func supervisor(_ budget: FaultBudget) throws -> Supervisor {
        try Supervisor(rule: VerdictRule(policy: .default, pid: getpid()), budget: budget)
    }

    @Test func `Resumed faults are counted and spend the budget, others do neither`() throws {
        let supervisor = try supervisor(FaultBudget(perProcess: 2, perWindow: 10))
        let sent = FaultSummary(signal: SIGSEGV, code: 0, sender: 1)
        #expect(supervisor.decide(sent).verdict == .terminate)
        #expect(supervisor.decide(Self.fault).verdict == .resume)
        #expect(supervisor.decide(FaultSummary(signal: SIGBUS, code: 2)).verdict == .restart)
        #expect(supervisor.decide(Self.fault).verdict == .resume)
        #expect(supervisor.resumedFaults == 2)
        let last = supervisor.decide(Self.fault)
        #expect(last.verdict == .restart)
        #expect(last.reason.description.contains("budget"))
        #expect(supervisor.resumedFaults == 2)
    }

    @Test func `Messages come on the loop in their order, each once, also those that came before it ran`() async throws
    {
        let supervisor = try supervisor(.default)
        let numbers: [Int] = await withCheckedContinuation { continuation in
            LoopThread.run { loop in
                let received = Mutex<[Int]>([])
                for number in 1...3 { supervisor.post(CrashMessage(number: number, signal: SIGILL, item: 1)) }
                try? supervisor.attach(to: loop) { message in
                    received.withLock { $0.append(message.number) }
                    // One more comes while one is received.
                    if message.number == 2 { supervisor.post(CrashMessage(number: 4, signal: SIGSEGV, item: 2)) }
                    if message.number == 4 { loop.stop() }
                }
                loop.run(in: .default, for: .seconds(20))
                // Nothing comes twice.
                loop.run(in: .default, for: .zero)
                continuation.resume(returning: received.withLock { $0 })
            }
        }
        #expect(numbers == [1, 2, 3, 4])
    }
}
