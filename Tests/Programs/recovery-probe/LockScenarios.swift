import FaultInjection
import Glibc
import Holdfast
import Synchronization

/// A lock of the POSIX threads library that does not move.
private final class PlainLock: @unchecked Sendable {
    let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    let readWrite = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_rwlock_init(readWrite, nil)
    }
}

private final class Register: Sendable {
    let entries = Mutex<[Int]>([])
}

private let globalEntries = Mutex<[Int]>([])

extension Probe {
    func heldMutex() {
        let lock = PlainLock()
        perform {
            pthread_mutex_lock(lock.mutex)
            Fault.nilUnwrap.commit()
            pthread_mutex_unlock(lock.mutex)
        }
        finishNever()
    }

    func heldReadLock() {
        let lock = PlainLock()
        perform {
            pthread_rwlock_rdlock(lock.readWrite)
            Fault.nilUnwrap.commit()
            pthread_rwlock_unlock(lock.readWrite)
        }
        finishNever()
    }

    /// Nobody counts it, but the function that holds it is on the stack: as a frame, or inlined into one.
    func heldSwiftMutex() {
        let register = Register()
        perform {
            register.entries.withLock { entries in
                entries.append(1)
                Fault.nilUnwrap.commit()
            }
        }
        finishNever()
    }

    /// Its address is in no register and on no stack.
    func heldSwiftMutexGlobal() {
        perform {
            globalEntries.withLock { entries in
                entries.append(1)
                Fault.nilUnwrap.commit()
            }
        }
        finishNever()
    }

    /// Nobody knows where in a function a Mutex is held: only that the function uses it, and that it is free now.
    func usedMutex() {
        let register = Register()
        perform(
            {
                register.entries.withLock { $0.append(1) }
                globalEntries.withLock { $0.append(1) }
                Fault.nilUnwrap.commit()
            },
            { Probe.say("entries \(register.entries.withLock { $0.count })") }
        )
        finish()
    }

    /// The same in a function that takes them again: where it finds the thread's id for that is in a register.
    func usedMutexAgain() {
        let register = Register()
        perform(
            {
                register.entries.withLock { $0.append(1) }
                globalEntries.withLock { $0.append(1) }
                Fault.nilUnwrap.commit()
                register.entries.withLock { $0.append(2) }
                globalEntries.withLock { $0.append(2) }
            },
            { Probe.say("entries \(register.entries.withLock { $0.count })") }
        )
        finish()
    }

    /// The same above the recovery point of a callout that runs the loop.
    func usedMutexInNestedRun() {
        let register = Register()
        perform {
            self.perform({
                register.entries.withLock { $0.append(1) }
                globalEntries.withLock { $0.append(1) }
                Fault.nilUnwrap.commit()
            })
            self.host.loop.run(in: .default, for: .zero)
            Probe.say("entries \(register.entries.withLock { $0.count })")
            self.finish()
        }
    }

    /// Locks that were let go again are no obstacle, nor are those that could not be had.
    func releasedLocks() {
        let lock = PlainLock()
        let register = Register()
        perform(
            {
                pthread_mutex_lock(lock.mutex)
                pthread_mutex_trylock(lock.mutex)
                pthread_mutex_unlock(lock.mutex)
                pthread_rwlock_wrlock(lock.readWrite)
                pthread_rwlock_tryrdlock(lock.readWrite)
                pthread_rwlock_unlock(lock.readWrite)
                register.entries.withLock { $0.append(1) }
                Fault.nilUnwrap.commit()
            },
            { Probe.say("entries \(register.entries.withLock { $0.count })") },
            {
                pthread_mutex_lock(lock.mutex)
                pthread_rwlock_rdlock(lock.readWrite)
                pthread_rwlock_unlock(lock.readWrite)
                pthread_mutex_unlock(lock.mutex)
                Probe.say("locks are free")
            }
        )
        finish()
    }
}
