import Dispatch
import Foundation
import Glibc

/// What is held by a count.
final class Counts: @unchecked Sendable {
    private let group = DispatchGroup()
    private let queue = DispatchQueue(label: "suspended")
    /// As nobody has signalled it, who waits for it sleeps.
    private let signal = DispatchSemaphore(value: 0)
    private let posix = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() {
        sem_init(posix, 0, 1)
    }

    /// Does what a scenario has before its fault.
    func use(_ scenario: String) {
        switch scenario {
        case "posix-semaphore": sem_wait(posix)
        case "tried-posix-semaphore": sem_trywait(posix)
        case "posted":
            sem_wait(posix)
            if sem_trywait(posix) == 0 { return }
            sem_post(posix)
        case "group": group.enter()
        case "left-group":
            group.enter()
            group.leave()
            // Enters and leaves it by itself.
            DispatchQueue.global().async(group: group) {}
        case "suspended": queue.suspend()
        case "resumed":
            queue.suspend()
            queue.resume()
        case "slept":
            // libdispatch sleeps on a POSIX semaphore of its own, which the thread that signals posts.
            // The main thread has the process's number.
            let sleeper = getpid()
            DispatchQueue.global().async {
                while !Self.isAsleep(sleeper) { sched_yield() }
                self.signal.signal()
            }
            signal.wait()
            signal.signal()
        default: exit(64)
        }
    }

    /// Whether a thread is in a system call for a futex: 202.
    private static func isAsleep(_ thread: pid_t) -> Bool {
        let file = try? String(contentsOfFile: "/proc/self/task/\(thread)/syscall", encoding: .utf8)
        return file?.hasPrefix("202 ") == true
    }

    /// What is not free.
    var held: [String] {
        var held: [String] = []
        if sem_trywait(posix) != 0 { held.append("posix semaphore") }
        if group.wait(timeout: .now() + 10) != .success { held.append("group") }
        let done = DispatchSemaphore(value: 0)
        queue.async { done.signal() }
        if done.wait(timeout: .now() + 10) != .success { held.append("queue") }
        return held
    }
}
