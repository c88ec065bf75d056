import CrashCapture
import FaultInjection
import Glibc
import Holdfast
import Synchronization

/// Looks at threads while nothing has faulted.
enum LookScenarios {
    /// Looks at every other thread many times and says what was seen last; then lets looks and faults come at the same time.
    @MainActor
    static func lookAround(from loop: HostRunLoop) {
        for thread in threads() where thread != getpid() {
            var last: ThreadLook?
            for _ in 0..<50 { last = CrashCapture.look(at: thread) ?? last }
            // A thread that has just been let go may be on its way back to where it waits; a busy one is no more than that.
            for _ in 0..<50 where last?.state != "S" {
                sched_yield()
                last = CrashCapture.look(at: thread) ?? last
            }
            if let last { Probe.say("look " + text(of: last)) }
        }
        // One that is no thread of this process is not asked.
        var nobody = CrashCapture.look(at: 1)
        for _ in 0..<10 where nobody == nil { nobody = CrashCapture.look(at: 1) }
        Probe.say("nobody \(nobody?.frames.count ?? -1)")
        lookWhileFaulting(loop)
    }

    private static func text(of look: ThreadLook) -> String {
        let callout = look.callout.map { "\($0.label)/\($0.mode)/\($0.nesting)/\($0.kind)" } ?? "none"
        let frames = look.frames.map { String($0, radix: 16) }.joined(separator: ",")
        return [
            look.name, look.state.map(String.init) ?? "none", look.systemCall.map(String.init) ?? "none",
            look.isWalkComplete ? "whole" : "broken", callout, frames,
        ].joined(separator: "|")
    }

    private static func threads() -> [pid_t] {
        StartScenarios.names(in: "/proc/self/task").compactMap { pid_t($0) }
    }

    /// A hundred faults of a loop that is looked at all the while: each is resumed.
    ///
    /// In nobody's code: the closures are for a loop of another thread.
    private static func lookWhileFaulting(_ main: HostRunLoop) {
        guard let thread = try? HostRunLoop.LoopThread(name: "look-faulting") else { return }
        let isOver = Atomic<Bool>(false)
        let looks = Atomic<Int>(0)
        let isHeld = Atomic<Bool>(true)
        let looker = Probe.startThread {
            while !isOver.load(ordering: .acquiring) {
                if CrashCapture.look(at: thread.loop.progress.thread) != nil { looks.add(1, ordering: .relaxed) }
            }
        }
        // Not before somebody looks.
        thread.loop.perform(label: "held") { while isHeld.load(ordering: .acquiring) { usleep(100) } }
        while looks.load(ordering: .relaxed) == 0 { sched_yield() }
        isHeld.store(false, ordering: .releasing)
        for _ in 0..<100 { thread.loop.perform(label: "faults") { Fault.nilUnwrap.commit() } }
        let last = try? thread.loop.performAndWait { true }
        isOver.store(true, ordering: .releasing)
        pthread_join(looker, nil)
        thread.stop()
        thread.join()
        Probe.say("looked \(looks.load(ordering: .relaxed) > 0) \(last == true)")
    }
}
