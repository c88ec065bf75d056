import CFaultInjection
import FaultInjection
import Holdfast

/// Calls a closure, as a generic function of the program's own.
@inline(never)
private func each<Elements: Sequence>(of elements: Elements, _ body: (Elements.Element) -> Void) {
    for element in elements { body(element) }
}

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
