import CRecoveryPoint
import RecoveryTestSupport
import RunLoops
import Testing

/// The control words of the floating-point units after an abandoned callout: see `hf_recovery_run`.
@Suite(.timeLimit(.minutes(10)))
struct FloatingPointTests {
    /// MXCSR's bit for flush to zero, which the x87 unit does not have.
    private static let flushToZero: UInt32 = 0x8000
    /// MXCSR's bits for rounding, and two of its values.
    private static let rounding: UInt32 = 0x6000
    private static let upward: UInt32 = 0x4000

    /// MXCSR's flags of exceptions that came to pass, which are not kept.
    private static let flags: UInt64 = 0x3f

    private static var controlWords: UInt64 { hf_test_control_words() & ~flags }
    private static var mxcsr: UInt32 { UInt32(truncatingIfNeeded: hf_test_control_words()) }

    @Test("Rounding that an abandoned callout has changed is as before, and so is the stack of the x87 unit")
    func ofAbandonedCallout() throws {
        let words = try onNewThread { loop in
            let words = Cell<[UInt64]>([])
            for _ in 0..<10 {
                loop.performWithoutWaking {
                    hf_test_change_control_words()
                    hf_test_abandon_callout()
                }
                loop.performWithoutWaking { words.value.append(Self.controlWords) }
            }
            words.value.append(Self.controlWords)
            loop.run(in: .default, for: .zero)
            return words.value
        }
        #expect(words.count == 11)
        #expect(Set(words).count == 1)
        #expect(Float80(words.count) / 2 == 5.5)
    }

    @Test("What a callout has set by the C library for good stays when the next one is abandoned")
    func setByLibrary() throws {
        let words = try onNewThread { loop in
            let words = Cell<[UInt64]>([])
            loop.performWithoutWaking {
                hf_test_change_environment()
                words.value.append(Self.controlWords)
            }
            loop.performWithoutWaking { hf_test_abandon_callout() }
            loop.performWithoutWaking { words.value.append(Self.controlWords) }
            loop.run(in: .default, for: .zero)
            return words.value
        }
        #expect(words.count == 2)
        #expect(words.first == words.last)
        // Upward, and divisions by zero not masked, in both words.
        #expect((words.first ?? 0) & 0xC04_0000_6200 == 0x800_0000_4000)
    }

    @Test("What was set in MXCSR alone before the run stays when a callout is abandoned")
    func setBeforeRun() throws {
        let bit = try onNewThread { loop in
            let bit = Cell<UInt32?>(nil)
            hf_test_toggle_mxcsr(Self.flushToZero)
            loop.performWithoutWaking { hf_test_abandon_callout() }
            loop.performWithoutWaking { bit.value = Self.mxcsr & Self.flushToZero }
            loop.run(in: .default, for: .zero)
            return bit.value
        }
        #expect(bit == Self.flushToZero)
    }

    @Test("What a callout has set in MXCSR alone stays from the loop's next look at its ports on")
    func setBeforeWait() throws {
        let bit = try onNewThread { loop in
            let bit = Cell<UInt32?>(nil)
            let pipe = TestPipe()
            pipe.fill()
            loop.performWithoutWaking { hf_test_toggle_mxcsr(Self.flushToZero) }
            // Blocks come first in a pass; a port is found by asking the kernel.
            try loop.add(
                pipe.portSource("p") { _ in
                    loop.performWithoutWaking {
                        bit.value = Self.mxcsr & Self.flushToZero
                        loop.stop()
                    }
                    hf_test_abandon_callout()
                }
            )
            loop.run()
            return bit.value
        }
        #expect(bit == Self.flushToZero)
    }

    @Test("What a callout sets in MXCSR for a while is gone when the next is abandoned", arguments: WhileSet.allCases)
    func setForAWhile(what: WhileSet) throws {
        let bit = try onNewThread { loop in
            let bit = Cell<UInt32?>(nil)
            loop.performWithoutWaking {
                hf_test_toggle_mxcsr(Self.flushToZero)
                what.happen(on: loop)
                hf_test_toggle_mxcsr(Self.flushToZero)
            }
            loop.performWithoutWaking { hf_test_abandon_callout() }
            loop.performWithoutWaking { bit.value = Self.mxcsr & Self.flushToZero }
            loop.run(in: .default, for: .zero)
            return bit.value
        }
        #expect(bit == 0)
    }

    /// What happens meanwhile, with a look at MXCSR.
    enum WhileSet: CaseIterable {
        case nestedRun, addedSource, performAndWait, lookAtPorts

        func happen(on loop: HostRunLoop) {
            switch self {
            case .nestedRun:
                loop.performWithoutWaking {}
                loop.run(in: .default, for: .zero)
            case .addedSource:
                loop.add(HostRunLoop.Source(label: "s", schedule: { _, _ in }, cancel: nil) { _ in })
            case .performAndWait:
                _ = try? loop.performAndWait {}
            case .lookAtPorts:
                let pipe = TestPipe()
                _ = try? loop.add(pipe.portSource("p") { _ in }, to: "ports")
                _ = loop.waitUntilAnyModeIsReady(["ports"], for: .zero)
            }
        }
    }

    @Test("What was noted in a callout that was then abandoned is forgotten")
    func notedInAbandonedCallout() throws {
        let bit = try onNewThread { loop in
            let bit = Cell<UInt32?>(nil)
            loop.performWithoutWaking {
                hf_test_toggle_mxcsr(Self.flushToZero)
                _ = hf_recovery_note_control_words()
                hf_test_abandon_callout()
            }
            loop.performWithoutWaking { hf_test_abandon_callout() }
            loop.performWithoutWaking { bit.value = Self.mxcsr & Self.flushToZero }
            loop.run(in: .default, for: .zero)
            return bit.value
        }
        #expect(bit == 0)
    }

    @Test("MXCSR stays as it is when a callout outside of a run is abandoned")
    func outsideOfRun() throws {
        let bit = try onNewThread { loop in
            hf_test_toggle_mxcsr(Self.flushToZero)
            loop.add(
                HostRunLoop.Source(label: "s", schedule: { _, _ in hf_test_abandon_callout() }, cancel: nil) { _ in }
            )
            return Self.mxcsr & Self.flushToZero
        }
        #expect(bit == Self.flushToZero)
    }

    @Test("Precision, which only the x87 unit has, changes nothing in MXCSR")
    func precision() throws {
        let bits = try onNewThread { loop in
            let bits = Cell<UInt32?>(nil)
            hf_test_toggle_mxcsr(Self.upward)
            loop.performWithoutWaking { hf_test_toggle_x87(0x100) }
            loop.performWithoutWaking { hf_test_abandon_callout() }
            loop.performWithoutWaking { bits.value = Self.mxcsr & Self.rounding }
            loop.run(in: .default, for: .zero)
            return bits.value
        }
        #expect(bits == Self.upward)
    }
}
