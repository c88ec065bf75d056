import LinuxSystem
import Testing

@testable import CrashCapture
@testable import CrashReports
@testable import StallDetection

/// What the kernel's files say of a thread, and what becomes of it in a stall.
@Suite struct StallSamplesTests {
    private static let stat = "815 (a ) name) S 1 815"
    private static let status = "Name:\ta\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t99\n"

    private static func activity(
        _ state: String = "S",
        call: String = "230 0x1 0x2 0x7ffc 0x7f00",
        switches: Int = 12,
        run: Int64 = 0,
        wait: Int64 = 0
    ) -> ThreadActivity {
        ThreadActivity(
            stat: "1 (x) \(state) 0",
            systemCall: call,
            status: "voluntary_ctxt_switches:\t\(switches)\n",
            schedule: "\(run) \(wait) 7\n"
        )
    }

    private static func look(_ frames: [UInt64]) -> ThreadLook {
        ThreadLook(
            thread: 1,
            name: "x",
            state: "S",
            systemCall: 230,
            stackPointer: 0x7ffc,
            frames: frames,
            headFrameCount: frames.count,
            framesOmitted: 0,
            task: 0,
            awaits: [],
            awaitPosition: 0,
            isWalkComplete: true,
            callout: nil
        )
    }

    @Test func `The files of a thread are read whatever its name`() {
        let activity = ThreadActivity(
            stat: Self.stat,
            systemCall: "0 0x3 0x7ffc 0x1 0x0 0x0 0x0 0x7ffd 0x7f01\n",
            status: Self.status,
            schedule: "123 456 7\n"
        )
        #expect(activity.state == "S" && activity.systemCall == 0 && activity.voluntarySwitches == 12)
        #expect(activity.runTime == 123 && activity.waitTime == 456)
        let running = ThreadActivity(stat: "1 (x) R 0", systemCall: "running\n", status: nil, schedule: nil)
        #expect(running.state == "R" && running.systemCall == nil && running.runTime == nil)
        // One that waits outside of a system call: a page that is read from a disk.
        #expect(Self.activity("D", call: "-1 0x7ffd 0x7f01").systemCall == nil)
        let nothing = ThreadActivity(stat: nil, systemCall: nil, status: nil, schedule: nil)
        #expect(nothing == ThreadActivity(stat: "", systemCall: "", status: "", schedule: "") || nothing.state == nil)
    }

    @Test func `A thread has slept on only in the same call, and without having woken`() {
        let before = Self.activity()
        #expect(Self.activity().isAsleep(since: before))
        #expect(!Self.activity(switches: 13).isAsleep(since: before))
        #expect(!Self.activity(call: "230 0x1 0x2 0x7ffc 0x7f08").isAsleep(since: before))
        #expect(!Self.activity("R", call: "running").isAsleep(since: Self.activity("R", call: "running")))
        #expect(!Self.activity("S", call: "-1 0x1 0x2").isAsleep(since: Self.activity("S", call: "-1 0x1 0x2")))
    }

    @Test func `Samples of one place are put together, and each state of the kernel is told`() throws {
        var samples = StallSamples()
        samples.add(Self.look([1, 2]), Self.activity(), seconds: 0.1)
        samples.add(nil, Self.activity(), seconds: 0.2)
        samples.add(Self.look([3, 2]), Self.activity("D"), seconds: 0.1)
        samples.add(nil, Self.activity("T"), seconds: 0.1)
        #expect(samples.weights.count == 3)
        let sleep = try #require(samples.weights.first { $0.key.stack.frames == [1, 2] })
        #expect(sleep.key.activity == .systemCall && sleep.key.systemCall == 230 && sleep.value.samples == 2)
        #expect(Set(samples.weights.keys.map(\.activity)) == [.systemCall, .disk, .stopped])
    }

    @Test func `A thread that is ready runs if it had a processor for most of the time`() {
        var samples = StallSamples()
        samples.add(Self.look([1]), Self.activity("R", run: 100, wait: 100), seconds: 1)
        samples.add(Self.look([2]), Self.activity("R", run: 900, wait: 200), seconds: 1)
        samples.add(Self.look([3]), Self.activity("R", run: 950, wait: 900), seconds: 1)
        let seen = Dictionary(uniqueKeysWithValues: samples.weights.keys.map { ($0.stack.frames[0], $0.activity) })
        #expect(seen == [1: .running, 2: .running, 3: .ready])
        #expect(samples.processorSeconds == 850e-9 && samples.waitedForProcessorSeconds == 800e-9)
        // A thread of which nothing is known any more takes nothing away.
        samples.add(nil, ThreadActivity(stat: nil, systemCall: nil, status: nil, schedule: nil), seconds: 1)
        #expect(samples.processorSeconds == 850e-9)
    }

    @Test func `A thread that does not answer is still where it was seen last`() {
        var samples = StallSamples()
        samples.add(Self.look([1, 2]), Self.activity(), seconds: 1)
        samples.add(Self.look([]), Self.activity(), seconds: 1)
        #expect(samples.lastLook?.frames == [1, 2])
        #expect(samples.weights.map(\.value.samples) == [2])
    }

    @Test func `Where a thread waits is read from the line of its system call`() throws {
        let place = try #require(Self.activity(call: "230 0x1 0x0 0x7ffc 0x7f0a").place)
        #expect(place.stackPointer == 0x7ffc && place.programCounter == 0x7f0a)
        #expect(Self.activity("R", call: "running").place == nil)
        #expect(Self.activity("S", call: "-1 0x7ffc 0x7f0a").place == nil)
        #expect(Self.activity(call: "230 garbage here").place == nil)
    }

    @Test func `However many stacks differ, their number is bounded, and no time is lost`() {
        var samples = StallSamples()
        for number in 0..<5000 { samples.add(Self.look([UInt64(number)]), Self.activity(), seconds: 1) }
        #expect(samples.weights.count == 4096)
        #expect(samples.weights.values.reduce(0) { $0 + $1.seconds } == 5000)
    }

    @Test func `A wait for a lock is told by its names`() {
        func frame(_ function: String) -> CrashReport.Frame {
            CrashReport.Frame(
                index: 0,
                address: HexAddress(1),
                kind: .returnAddress,
                function: function,
                isUserCode: false
            )
        }
        for function in ["___pthread_mutex_lock", "__lll_lock_wait", "Synchronization._MutexHandle._lock() -> ()"] {
            #expect(LockWait.isOne(systemCall: "futex", frames: [frame("futex_wait"), frame(function)]))
            #expect(!LockWait.isOne(systemCall: "read", frames: [frame(function)]))
        }
        #expect(!LockWait.isOne(systemCall: "futex", frames: [frame("pthread_cond_wait"), frame("work()")]))
        let far = (0..<8).map { _ in frame("other") } + [frame("pthread_mutex_lock")]
        #expect(!LockWait.isOne(systemCall: "futex", frames: far))
    }
}
