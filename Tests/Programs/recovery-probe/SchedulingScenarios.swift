import CCrashCapture
import CrashCapture
import FaultInjection
import Glibc
import Holdfast

/// How threads are scheduled: `recovery-probe scheduling STORE threads|finish|restart`.
@MainActor
enum SchedulingScenarios {
    static func run(_ store: String, _ arguments: [String]) throws {
        switch arguments.first {
        case "threads": try sayThreads(store)
        case "finish": try finish(store)
        case "restart": try restart(HostScenario.host(store))
        default: break
        }
    }

    /// Says how the threads of a host are scheduled once it has written a report, when another process serves, and when it ends.
    private static func sayThreads(_ store: String) throws {
        let host = try HostScenario.host(store) {
            $0.stallPolicy = EventHost.Configuration.conservative.stallPolicy
        }
        host.perform { Fault.nilUnwrap.commit() }
        host.perform {
            precondition(host.flushReports(within: .seconds(60)))
            for thread in threads() { Probe.say("\(thread)") }
            CrashCapture.leaveProcessors()
            sayKinds("another serves")
            hf_async_all_give_way(HF_WAY_WITH_SHARE)
            sayKinds("the end")
            host.stop()
        }
        host.run()
        host.close()
    }

    private static func sayKinds(_ moment: String) {
        Probe.say(moment)
        for kind in Set(threads().map { "policy \($0.policy) nice \($0.nice)" }) { Probe.say(kind) }
    }

    /// Says how the threads are scheduled that make reports, of which one finishes what the process before has left.
    private static func finish(_ store: String) throws {
        // Whoever adds a report waits for this lock, once the first process has made the folder.
        let reports = open(store + "/reports", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        precondition(reports < 0 || flock(reports, LOCK_EX) == 0)
        let host = try HostScenario.host(store)
        guard host.restarts > 0 else {
            host.performRestart(by: "fault")
            return host.run()
        }
        host.perform {
            var writers: [Thread] = []
            while writers.count < 2 || !writers.contains(where: { $0.nice > 0 }) {
                usleep(1000)
                writers = threads().filter { $0.name == "holdfast-report" }
            }
            for writer in writers.sorted(by: { $0.nice < $1.nice }) { Probe.say("\(writer)") }
            close(reports)
            host.stop()
        }
        host.run()
        host.close()
    }

    /// Restarts on a thread that gives way to others and may not take that back; says how the main thread is scheduled, twice.
    private static func restart(_ host: EventHost) throws {
        let main = threads().first { $0.id == getpid() }
        Probe.say("policy \(main?.policy ?? -1) nice \(main?.nice ?? -1)")
        guard host.restarts == 0 else { return host.close() }
        Probe.startThread {
            var parameters = sched_param(sched_priority: 0)
            precondition(sched_setscheduler(0, batch, &parameters) == 0 && sched_getscheduler(0) == batch)
            // Of the calling thread alone (setpriority(2), "C library/kernel differences").
            precondition(setpriority(process, 0, 10) == 0)
            giveUpPrivileges()
            // Inside a library nothing is drained: the thread itself replaces the process.
            var numbers = [2, 1]
            qsort(&numbers, 2, MemoryLayout<Int>.stride) { _, _ in
                Fault.nilUnwrap.commit()
                return 0
            }
        }
        host.run()
    }

    /// SCHED_BATCH of the kernel's sched.h, which the overlay lacks.
    private nonisolated static let batch: CInt = 3

    private nonisolated static let process = __priority_which_t(PRIO_PROCESS.rawValue)

    /// Takes all capabilities from the calling thread (capset(2)); execve(2) gives them back to root.
    private nonisolated static func giveUpPrivileges() {
        // _LINUX_CAPABILITY_VERSION_3, of two words for each set.
        var header: (UInt32, CInt) = (0x2008_0522, 0)
        var sets: (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32) = (0, 0, 0, 0, 0, 0)
        precondition(setCapabilities(&header, &sets) == 0 && setpriority(process, 0, 0) != 0)
    }

    private struct Thread: CustomStringConvertible {
        let id: CInt
        let name: String
        let policy: CInt
        let nice: CInt

        /// Nil if the thread has ended.
        init?(_ id: CInt) {
            guard let file = fopen("/proc/self/task/\(id)/comm", "r") else { return nil }
            defer { fclose(file) }
            var bytes = [CChar](repeating: 0, count: 32)
            guard fgets(&bytes, CInt(bytes.count), file) != nil else { return nil }
            let text = bytes.prefix { $0 != 0 && $0 != CChar(UInt8(ascii: "\n")) }
            self.id = id
            name = String(decoding: text.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            policy = sched_getscheduler(id)
            // Of a thread (getpriority(2), "C library/kernel differences").
            nice = getpriority(process, id_t(id))
        }

        var description: String { "\(id == getpid() ? "main" : name): policy \(policy) nice \(nice)" }
    }

    private static func threads() -> [Thread] {
        StartScenarios.names(in: "/proc/self/task").compactMap { CInt($0) }.compactMap(Thread.init)
    }
}

/// capset(2), which no header of the overlay declares.
@_silgen_name("capset")
private func setCapabilities(_ header: UnsafeMutableRawPointer, _ sets: UnsafeMutableRawPointer) -> CInt
