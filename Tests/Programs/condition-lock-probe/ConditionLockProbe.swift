import Dispatch
import FaultInjection
import Foundation
import Glibc
import Holdfast

/// Locks that are held by a field of an object, or by a count: `condition-lock-probe SCENARIO STORE`.
///
/// Each scenario faults in a callout, and then looks whether all locks are free, unless the process was restarted.
@main
enum ConditionLockProbe {
    @MainActor static func main() throws {
        guard CommandLine.arguments.count == 3 else { exit(64) }
        try run(CommandLine.arguments[1], store: CommandLine.arguments[2])
    }

    @MainActor
    private static func run(_ scenario: String, store: String) throws {
        var configuration = EventHost.Configuration.conservative
        configuration.store = store
        configuration.afterResume = .keepServing
        // What is looked at is not how long a verdict takes on a busy machine.
        configuration.advanced.verdictDeadline = .seconds(10)
        let host = try EventHost(configuration)
        guard host.restarts == 0 else {
            say("restarted")
            host.close()
            return
        }
        let lock = NSConditionLock(condition: 1)
        let semaphore = DispatchSemaphore(value: 1)
        let counts = Counts()
        host.loop.performWithoutWaking(in: .default, label: "fault") {
            switch scenario {
            case "lock": lock.lock()
            case "lock-when": lock.lock(whenCondition: 1)
            case "try": if !lock.try() { return }
            case "lock-after-others":
                // The second one is let go: the first is held.
                lock.lock()
                let other = NSConditionLock(condition: 0)
                other.lock()
                other.unlock(withCondition: 2)
            case "unlocked":
                lock.lock()
                lock.unlock()
                lock.lock(whenCondition: 1)
                lock.unlock(withCondition: 1)
                if lock.tryLock(whenCondition: 7) { return }
                let condition = NSCondition()
                condition.lock()
                condition.broadcast()
                condition.unlock()
                semaphore.wait()
                semaphore.signal()
            case "semaphore": semaphore.wait()
            case "signalled": semaphore.signal()
            default: counts.use(scenario)
            }
            Fault.nilUnwrap.commit()
        }
        host.loop.performWithoutWaking(in: .default, label: "after") {
            let isSemaphoreFree = semaphore.wait(timeout: .now()) == .success
            // It must not go with less than it began with.
            if isSemaphoreFree { semaphore.signal() }
            say("free \(lock.try()) \(isSemaphoreFree)\(counts.held.map { " but \($0)" }.joined())")
            host.stop()
        }
        host.run()
        host.close()
    }

    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
