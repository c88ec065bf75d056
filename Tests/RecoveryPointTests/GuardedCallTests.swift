import CRecoveryPoint
import Glibc
import RecoveryTestSupport
import Testing

/// Guarded calls, without a loop.
@Suite(.timeLimit(.minutes(10)))
struct GuardedCallTests {
    /// What a body is given.
    private struct Visit {
        var count = 0
        var stack: UInt = 0
        var isArmed = false
    }

    private static func visit(_ argument: UnsafeMutableRawPointer?) {
        var local = 0
        withUnsafeMutablePointer(to: &local) { place in
            guard let visit = argument?.assumingMemoryBound(to: Visit.self) else { return }
            visit.pointee.count += 1
            visit.pointee.stack = UInt(bitPattern: place)
            visit.pointee.isArmed = hf_recovery_is_armed()
        }
    }

    @Test("A body runs on its stack above a recovery point, and that is gone when it has returned")
    func returns() throws {
        let stack = try #require(hf_callout_stack_create(64 << 10))
        defer { hf_callout_stack_destroy(stack) }
        var visit = Visit()
        for _ in 0..<3 {
            #expect(hf_recovery_run(stack, nil, { Self.visit($0) }, &visit) == .returned)
        }
        #expect(visit.count == 3)
        #expect(visit.isArmed)
        #expect((stack.pointee.low..<stack.pointee.high).contains(visit.stack))
        #expect(stack.pointee.high - stack.pointee.low >= 64 << 10)
        #expect(!hf_recovery_is_armed())
        #expect(!stack.pointee.abandoned)
    }

    @Test("A body that is abandoned does not go on, and its stack says where it was left")
    func abandoned() throws {
        let stack = try #require(hf_callout_stack_create(64 << 10))
        var visit = Visit()
        let outcome = hf_recovery_run(
            stack,
            nil,
            { argument in
                Self.visit(argument)
                hf_test_abandon_callout()
            },
            &visit
        )
        #expect(outcome == .abandoned)
        #expect(visit.count == 1)
        #expect(!hf_recovery_is_armed())
        #expect(stack.pointee.abandoned)
        #expect((stack.pointee.low..<stack.pointee.high).contains(stack.pointee.abandoned_at))
        let kept = hf_callout_stack_bury(stack)
        #expect(kept > 0 && kept < 64 << 10)
        hf_callout_stack_settle()
    }

    @Test("Of nested calls the inner one alone is abandoned, and the outer one's point is current again")
    func nested() throws {
        struct Nest {
            var inner: UnsafeMutablePointer<HFCalloutStack>
            var outcome = HFOutcome.returned
            var isSamePoint = false
        }
        let outer = try #require(hf_callout_stack_create(64 << 10))
        defer { hf_callout_stack_destroy(outer) }
        var nest = Nest(inner: try #require(hf_callout_stack_create(64 << 10)))
        let outcome = hf_recovery_run(
            outer,
            nil,
            { argument in
                guard let nest = argument?.assumingMemoryBound(to: Nest.self) else { return }
                let before = hf_recovery_current()
                nest.pointee.outcome = hf_recovery_run(nest.pointee.inner, nil, { _ in hf_test_abandon_callout() }, nil)
                nest.pointee.isSamePoint = before != nil && hf_recovery_current() == before
            },
            &nest
        )
        #expect(outcome == .returned)
        #expect(nest.outcome == .abandoned)
        #expect(nest.isSamePoint)
        #expect(!outer.pointee.abandoned)
        _ = hf_callout_stack_bury(nest.inner)
    }

    @Test("After a call its caller has its registers, also where another one ran inside it")
    func registersAfterCalls() {
        #expect(hf_test_registers_after_calls(0x7f12_3456_7000))
    }

    @Test("After an abandoned call its caller has its registers")
    func registersAfterAbandoned() {
        #expect(hf_test_registers_after_abandoned_call(0x7f12_3456_7000))
    }

    @Test("The control words of the floating-point units are as before an abandoned call")
    func controlWords() throws {
        let stack = try #require(hf_callout_stack_create(64 << 10))
        // The flags of exceptions that came to pass are not kept.
        let flags: UInt64 = 0x3f
        _ = hf_recovery_note_control_words()
        let before = hf_test_control_words() & ~flags
        let outcome = hf_recovery_run(
            stack,
            nil,
            { _ in
                hf_test_change_control_words()
                hf_test_abandon_callout()
            },
            nil
        )
        #expect(outcome == .abandoned)
        #expect(hf_test_control_words() & ~flags == before)
        _ = hf_callout_stack_bury(stack)
    }

    @Test("Below a stack lies a guard, into which nothing is written")
    func guardPage() async {
        await #expect(processExitsWith: .signal(SIGSEGV)) {
            let stack = try #require(hf_callout_stack_create(64 << 10))
            // Swift's own backtracer takes its time.
            signal(SIGSEGV, SIG_DFL)
            UnsafeMutablePointer<UInt8>(bitPattern: stack.pointee.low - 1)?.pointee = 1
        }
    }

    @Test("A stack of more than there is of memory is none, and errno says why")
    func tooLarge() {
        errno = 0
        #expect(hf_callout_stack_create(1 << 60) == nil)
        #expect(errno == ENOMEM)
    }
}
