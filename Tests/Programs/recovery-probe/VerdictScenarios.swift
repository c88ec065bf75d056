import FaultInjection
import Glibc
import Holdfast

private struct Refused: Error {}

extension Probe {
    func criticalSection() {
        perform { EventHost.withCriticalSection { Fault.nilUnwrap.commit() } }
    }

    /// Sections that have ended, in order or by an error, do not count.
    func criticalSectionOver() {
        perform(
            {
                EventHost.withCriticalSection { EventHost.withCriticalSection {} }
                try? EventHost.withCriticalSection { throw Refused() }
                Fault.nilUnwrap.commit()
            },
            { Probe.say("\(EventHost.withCriticalSection { "value" })") },
            { Fault.nilUnwrap.commit() }
        )
        finish()
    }

    /// A section of the outer callout is not one of the nested one; after the nested fault it is still open.
    func outerCriticalSection() {
        let loop = host.loop
        perform {
            EventHost.withCriticalSection {
                self.perform({ Fault.nilUnwrap.commit() }, { Probe.say("nested") })
                loop.run(in: .default, for: .zero)
                Probe.say("outer")
                Fault.nilUnwrap.commit()
            }
        }
    }

    func outsideOfCallouts() {
        Fault.nilUnwrap.commit()
    }

    func otherThread() {
        Probe.startThread { Fault.nilUnwrap.commit() }
        finishNever()
    }

    func mainActorTask() {
        Task { @MainActor in Fault.nilUnwrap.commit() }
        finishNever()
    }

    /// The frames between the fault and the recovery point are the application's: the task is around the run.
    func taskAroundNestedRun() {
        // A function, because no loop can be run in the task's own code.
        func run(_ loop: HostRunLoop) {
            loop.performWithoutWaking(in: "inner") { Fault.nilUnwrap.commit() }
            loop.run(in: "inner", for: .seconds(10))
        }
        Task { @MainActor [loop = host.loop] in run(loop) }
        finishNever()
    }

    func detachedTask() {
        Task.detached { Fault.nilUnwrap.commit() }
        finishNever()
    }

    /// A fault in a function that the C library calls back.
    func librarySandwich() {
        perform {
            var values = [3, 1, 2]
            qsort(&values, values.count, MemoryLayout<Int>.stride) { _, _ in
                Fault.nilUnwrap.commit()
                return 0
            }
        }
    }

    func restartWhenQuiet() {
        host.onRestart { [host] in Probe.say("handing over, written \(host.flushReports(within: .zero))") }
        perform({ Fault.nilUnwrap.commit() }, { Probe.say("going on") })
        finishNever()
    }

    func terminate() {
        perform({ Fault.nilUnwrap.commit() }, { Probe.say("going on") }, { Fault.wildPointer.commit() })
    }

    func budget() {
        for number in 1...3 { perform({ Fault.nilUnwrap.commit() }, { Probe.say("after \(number)") }) }
    }

    /// A scenario that ends otherwise runs into this, and says so.
    func finishNever() {
        let late = HostRunLoop.Timer(label: "late", after: .seconds(10)) { [host] _ in
            Probe.say("late")
            host.stop()
        }
        host.loop.add(late, to: .common)
    }
}
