import Glibc
import RunLoops
import StallDetection
import Synchronization

/// Callouts of 5 ms one after the other, beside other busy processes and one that stops and continues this one, and with a debugger
/// that comes and goes: nothing stalls.
struct BusyLoops {
    private let options: Options

    init(_ options: Options) { self.options = options }

    func run() throws -> [String] {
        let told = Mutex<[Stall]>([])
        let monitor = StallMonitor { stall in told.withLock { $0.append(stall) } }
        let passes = Atomic<Int>(0)
        let threads = try (0..<2).map { try HostRunLoop.LoopThread(name: "busy \($0)") }
        for thread in threads {
            let loop = thread.loop
            try monitor.watch(loop)
            let timer = HostRunLoop.Timer(label: "5 ms", after: .zero, repeating: .milliseconds(6)) { _ in
                passes.add(1, ordering: .relaxed)
                let end = HostRunLoop.Instant.now.advanced(by: .milliseconds(5))
                while .now < end {}
            }
            loop.add(timer)
        }
        let helpers = [
            try Helpers.start("spin"), try Helpers.start("spin"),
            try Helpers.start("stop", "\(getpid())", "\(options.seed)"),
        ]
        let steps = sleep(for: .seconds(options.seconds))
        let isDebugged = try Helpers.debug(for: 1)
        for helper in helpers { Helpers.end(helper) }
        monitor.stop()
        for thread in threads { thread.stop() }
        for thread in threads { thread.join() }
        let stalls = told.withLock { $0.filter { $0.phase == .lasting } }
        let stops = Helpers.stops
        say(
            "\(options.seconds) s and \(passes.load(ordering: .relaxed)) callouts of 5 ms under load, \(stops) stops, "
                + (isDebugged ? "a debugger for a second" : "no debugger, for there is no gdb")
                + (options.stepsClock ? ", \(steps) steps of the clock by an hour" : "")
                + ": \(stalls.count) stalls"
        )
        return stalls.map { "told of \($0.length) in callouts of 5 ms" }
            + (stops > 0 ? [] : ["nobody stopped this process"])
            + (options.stepsClock && steps == 0 ? ["the clock could not be set: it takes CAP_SYS_TIME"] : [])
    }

    /// Returns how often it set the clock of the machine, on and back.
    private func sleep(for time: Duration) -> Int {
        let end = HostRunLoop.Instant.now.advanced(by: time)
        var steps = 0
        while .now < end {
            usleep(100_000)
            guard options.stepsClock, Self.stepClock(by: 3600) else { continue }
            usleep(100_000)
            steps += Self.stepClock(by: -3600) ? 2 : 1
        }
        return steps
    }

    private static func stepClock(by seconds: Int) -> Bool {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        time.tv_sec += seconds
        return clock_settime(CLOCK_REALTIME, &time) == 0
    }
}
