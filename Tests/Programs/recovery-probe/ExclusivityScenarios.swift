import FaultInjection
import Holdfast

/// Properties whose accesses are checked at run time.
class Account {
    var balance = 0
    var limit = 0
}

/// Opens an access that is still open when the body runs.
///
/// What it has written by then is the compiler's choice.
@inline(never)
private func modify(_ value: inout Int, during body: () -> Void) {
    value += 1
    body()
    value += 1
}

extension Probe {
    /// Faults inside of modify accesses, then the same properties again: without protection the next access walks through
    /// abandoned frames.
    func exclusivity() {
        let account = Account()
        for round in 1...50 {
            perform(
                { modify(&account.balance) { Fault.nilUnwrap.commit() } },
                { account.balance = round },
                { modify(&account.limit) { Fault.nullWrite.commit() } },
                { modify(&account.limit) { account.balance += 1 } },
                { account.limit = account.balance }
            )
        }
        perform(
            { Probe.say("balance \(account.balance) limit \(account.limit)") },
            // Accesses are still checked.
            { Fault.exclusivity.commit() },
            { Probe.say("a conflict is found, and what came after it runs") }
        )
        finish()
    }

    /// A nested callout faults while an access of the outer one is open.
    func outerAccess() {
        let outer = Account()
        let inner = Account()
        let loop = host.loop
        perform {
            modify(&outer.balance) {
                self.perform({ modify(&inner.balance) { Fault.nilUnwrap.commit() } }, { inner.balance = 5 })
                loop.run(in: .default, for: .zero)
                // What the abandoned access left there is anything.
                inner.balance = 10
            }
            // The outer access has ended, and is off the list.
            outer.balance += 10
            inner.balance += 10
            Probe.say("outer \(outer.balance) inner \(inner.balance)")
        }
        perform {
            modify(&outer.balance) { modify(&inner.balance) {} }
            Probe.say("outer \(outer.balance) inner \(inner.balance)")
            // Queued here: the nested run would have ended the host otherwise.
            self.finish()
        }
    }
}
