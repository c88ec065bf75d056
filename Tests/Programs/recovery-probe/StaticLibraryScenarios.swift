import CFaultInjection
import FaultInjection
import Holdfast

/// Calls a closure, as a generic function of the program's own.
@inline(never)
private func each<Elements: Sequence>(of elements: Elements, _ body: (Elements.Element) -> Void) {
    for element in elements { body(element) }
}

/// What the optimiser does not know.
@inline(never)
@_optimize(none)
private func address(ofPageZero place: UInt) -> UnsafeMutablePointer<CInt>! { UnsafeMutablePointer(bitPattern: place) }

private nonisolated(unsafe) var nothing: Int?

/// Libraries in C that are linked into the executable.
extension Probe {
    /// Swift called C, which called Swift, which faults.
    func calledBack() {
        perform(
            { hf_call_back({ _ in Fault.nilUnwrap.commit() }, nil) },
            { Probe.say("going on") }
        )
        finish()
    }

    /// The same with a function of a header, which an optimised build makes a part of its caller.
    func calledBackInlined() {
        perform(
            { hf_call_back_inlined({ _ in Fault.nilUnwrap.commit() }, nil) },
            { Probe.say("going on, \(hf_inlined_calls_under_way()) under way") }
        )
        finish()
    }

    /// What faults is a part of the function that the header's is a part of.
    func calledBackInlinedTwice() {
        perform(
            { hf_call_back_inlined({ _ in precondition(nothing != nil) }, nil) },
            { Probe.say("going on, \(hf_inlined_calls_under_way()) under way") }
        )
        finish()
    }

    /// A function of a header, which faults itself.
    func ownInlinedFunction() {
        perform({ hf_write_inlined(address(ofPageZero: 64)) }, { Probe.say("going on") })
        finish()
    }

    /// The library keeps a place to jump to, on the stack that would be abandoned.
    func protectedCall() {
        perform(
            { hf_call_protected({ _ in Fault.nilUnwrap.commit() }, nil) },
            {
                hf_fail_protected()
                Probe.say("going on")
            }
        )
        finish()
    }

    /// Swift and nothing else, through closures and a generic function.
    func ownCode() {
        perform(
            { each(of: [1, 2, 3]) { if $0 == 3 { Fault.nilUnwrap.commit() } } },
            { Probe.say("going on") }
        )
        finish()
    }

    /// Swift called C, which faults itself.
    func ownCFunction() {
        perform({ Fault.nullWrite.commit() }, { Probe.say("going on") })
        finish()
    }
}
