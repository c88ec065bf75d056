import CCrashCapture
import CRecoveryPoint
import CrashCapture
import FaultInjection
import Glibc
import Synchronization
import TestSupport
import Testing

/// Who holds a slot, and when it is free again: the thread that faulted and the report let go of it in any order.
@Suite(.timeLimit(.minutes(10))) struct SlotTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func `A slot whose report is made stays its fault's until the thread has read its verdict`() async {
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            let capture = try CrashCapture(
                .init(
                    spoolFolder: path + "/spool",
                    deadline: .seconds(60),
                    verdictAtDeadline: .terminate,
                    version: "test"
                ),
                inspection: .trustingAll,
                decide: Overtaken.decide(_:),
                decided: { _, _ in },
                recorded: Overtaken.recorded(slot:)
            )
            Overtaken.prepare()
            Overtaken.startThread()
            #expect(Overtaken.waits { Overtaken.first.load(ordering: .acquiring) >= 0 }, "the first is reported")
            // The first thread has its verdict, and stands still before it could read that.
            Overtaken.faultHere()
            let readItsOwn = Overtaken.readItsOwn.load(ordering: .acquiring)
            #expect(readItsOwn, "it went on by its own verdict, not by the second's")
            #expect(Overtaken.waits { capture.slotsInUse == 0 }, "and then both slots are free")
            let slots = (Overtaken.first.load(ordering: .acquiring), Overtaken.second.load(ordering: .acquiring))
            #expect(slots.0 != slots.1)
        }
    }

    @Test func `What a thread keeps of its fault after the report is made is freed with the slot`() async {
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            let capture = try CaptureChild.install(path) { _ in Decision(.terminate, because: "") }
            for fault in 1...UInt32(2 * HF_CONTEXT_SNAPSHOT_COUNT) {
                let record = try #require(hf_async_claim_slot())
                record.pointee.number = fault
                let snapshot = try #require(hf_async_claim_context(fault), "snapshot \(fault)")
                hf_capture_release(0)
                hf_capture_release(0)
                #expect(hf_capture_is_parked(0) && capture.slotsInUse == 1)
                let other = try #require(hf_async_claim_slot())
                #expect(other == hf_capture_record(1), "the first is still read")
                other.pointee.number = .max
                hf_async_leave_record(other)
                #expect(capture.slotsInUse == 2, "it has no report yet")
                hf_capture_release(1)
                // Only now: the thread was held up.
                hf_async_keep_context(snapshot)
                hf_async_leave_record(record)
                #expect(!hf_capture_is_parked(0) && capture.slotsInUse == 0)
            }
        }
    }
}

/// A thread that faults, has its verdict, and is held up by a signal before it reads that; then another faults.
private enum Overtaken {
    /// The slots of the first two faults, -1 while they are not reported.
    static let first = Atomic<Int>(-1)
    static let second = Atomic<Int>(-1)
    /// Whether the first thread was sent to its recovery point before the second fault had a verdict.
    static let readItsOwn = Atomic<Bool>(false)
    private static let thread = Atomic<UInt>(0)
    private static let isHeldUp = Atomic<Bool>(false)
    private static let mayGoOn = Atomic<Bool>(false)
    private static let hasLanded = Atomic<Bool>(false)

    /// Waits for what must come; says whether it did.
    static func waits(for condition: () -> Bool) -> Bool {
        let end = ContinuousClock.now + .seconds(20)
        while !condition() {
            if ContinuousClock.now > end { return false }
            usleep(100)
        }
        return true
    }

    /// Touches what the crash thread uses, for it may not allocate, and puts the handler in place that holds the thread up.
    static func prepare() {
        _ = first.load(ordering: .relaxed) + second.load(ordering: .relaxed)
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in
            Overtaken.isHeldUp.store(true, ordering: .releasing)
            while !Overtaken.mayGoOn.load(ordering: .acquiring) { sched_yield() }
        }
        sigaction(SIGUSR1, &action, nil)
    }

    static func startThread() {
        var thread = pthread_t()
        pthread_create(
            &thread,
            nil,
            { _ in
                // The thread of a test may block it, and its threads begin as it is.
                var signals = sigset_t()
                sigaddset(&signals, SIGUSR1)
                pthread_sigmask(SIG_UNBLOCK, &signals, nil)
                Overtaken.thread.store(UInt(pthread_self()), ordering: .releasing)
                Overtaken.faultHere()
                Overtaken.hasLanded.store(true, ordering: .releasing)
                return nil
            },
            nil
        )
    }

    /// Faults above a recovery point of the calling thread, and comes back.
    static func faultHere() {
        guard let stack = hf_callout_stack_create(256 * 1024) else { return }
        _ = hf_recovery_run(stack, nil, { _ in Fault.nullRead.commit() }, nil)
    }

    /// On the crash thread.
    static func decide(_ fault: FaultSummary) -> Decision {
        if fault.number == 1 {
            // It is in its handler, where this signal is not blocked.
            pthread_kill(pthread_t(thread.load(ordering: .acquiring)), SIGUSR1)
            while !isHeldUp.load(ordering: .acquiring) { sched_yield() }
        } else if fault.number == 2 {
            mayGoOn.store(true, ordering: .releasing)
            readItsOwn.store(waits { hasLanded.load(ordering: .acquiring) }, ordering: .releasing)
        }
        return Decision(.resume, because: "a test")
    }

    /// On the crash thread: the report is made at once.
    static func recorded(slot: UInt32) {
        hf_capture_release(slot)
        if first.load(ordering: .relaxed) < 0 {
            first.store(Int(slot), ordering: .releasing)
        } else {
            second.store(Int(slot), ordering: .releasing)
        }
    }
}
