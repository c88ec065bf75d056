import Glibc
import TestSupport

/// A stop of the whole process, which another one ends after a time.
struct PassingStop {
    private let waker: ChildProcess

    /// Starts the other process, which waits for the stop.
    ///
    /// It lets the others go on when the crash thread sleeps: on one processor, and idle by their class (sched(7)).
    init(for duration: Duration) throws {
        let process = "/proc/\(getpid())"
        let script = """
            while [ -d \(process) ] && ! grep -q '^State:.T' \(process)/status; do sleep 0.01; done
            processor=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\\([0-9]*\\).*/\\1/p' \(process)/status)
            taskset --all-tasks --cpu-list --pid "$processor" \(getpid())
            thread=$(grep -l '^holdfast-crash' \(process)/task/*/comm)
            for folder in \(process)/task/*; do
                [ "$folder/comm" = "$thread" ] || chrt --idle --pid 0 "$(basename "$folder")"
            done
            sleep \(duration / .seconds(1))
            kill -CONT \(getpid())
            """
        waker = try ChildProcess("/bin/sh", ["-c", script])
    }

    /// Stops all threads, and returns when they go on.
    func begin() {
        kill(getpid(), SIGSTOP)
    }
}
