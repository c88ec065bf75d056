import LinuxSystem
import Testing

/// What /proc tells of a thread (proc(5)).
struct ThreadActivityTests {
    private static let stat = "4711 (odd) name)) S 1 2 3"
    private static let call = "202 0x7f00 0x80 0x0 0x0 0x0 0x7ffd00001000 0x7f0000002000\n"
    private static let status = "Name:\todd\nvoluntary_ctxt_switches:\t17\nnonvoluntary_ctxt_switches:\t3\n"

    private func activity(state: String = stat, call: String? = call, status: String? = status) -> ThreadActivity {
        ThreadActivity(stat: state, systemCall: call, status: status, schedule: "1000 2000 3\n")
    }

    @Test("A name with parentheses hides no state")
    func parts() {
        let activity = activity()
        #expect(activity.state == "S")
        #expect(activity.systemCall == 202)
        #expect(activity.voluntarySwitches == 17)
        #expect(activity.runTime == 1000)
        #expect(activity.waitTime == 2000)
        #expect(activity.place?.stackPointer == 0x7ffd_0000_1000)
        #expect(activity.place?.programCounter == 0x7f00_0000_2000)
    }

    @Test("A thread that runs is in no system call, and is nowhere")
    func running() {
        let activity = activity(state: "1 (a) R 0", call: "running\n")
        #expect(activity.systemCall == nil)
        #expect(activity.place == nil)
        #expect(!activity.isAsleep(since: activity))
    }

    @Test("It sleeps since then if nothing of it has changed, and a state that cannot be read is no sleep")
    func asleep() {
        #expect(activity().isAsleep(since: activity()))
        #expect(!activity().isAsleep(since: activity(status: "voluntary_ctxt_switches:\t16\n")))
        #expect(!activity(status: nil).isAsleep(since: activity(status: nil)))
        #expect(!activity(call: nil).isAsleep(since: activity(call: nil)))
    }

    @Test("What is cut off or nonsense is nothing", arguments: ["", "-1 0x0 0x0", "abc", "202", "202 x y"])
    func nonsense(call: String) {
        #expect(activity(call: call).place == nil)
    }

    @Test("The running thread runs")
    func own() {
        let activity = ThreadActivity(ofThread: ThreadIdentity.id)
        #expect(activity.state == "R")
        #expect(activity.voluntarySwitches != nil)
    }
}
