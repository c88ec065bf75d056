import FaultInjection
import Glibc
import Holdfast
import Synchronization

private actor Counter {
    func count() -> Int { trap() }
}

@MainActor private func onMain() -> Int { trap() }

/// A lock that a fault leaves held.
private final class Guarded: Sendable {
    private let mutex = Mutex(0)
    @inline(never) func count() -> Int {
        mutex.withLock { value in
            value += trap()
            return value
        }
    }
}

/// Takes memory of its task.
@inline(never) @concurrent private func deeper() async -> Int {
    await Task.yield()
    return 1
}

/// Faults after which the process must not go on.
let denied: [String: @Sendable (Int) async throws -> Void] = [
    "actor": { _ in
        let counter = Counter()
        await attempt("actor") { await counter.count() }
        say("the actor answers \(await counter.count())")
    },
    "main-actor": { _ in await attempt("main actor") { await onMain() } },
    "detached": { _ in await attempt("detached") { await Task.detached { trap() }.value } },
    "unstructured": { _ in await attempt("unstructured") { await Task { trap() }.value } },
    "outside": { _ in
        await Task.yield()
        _ = trap()
    },
    "mutex": { _ in
        let guarded = Guarded()
        await attempt("mutex") { guarded.count() }
        say("the lock is free \(guarded.count())")
    },
    // In the async body itself, which ends by an indirect jump, and has let go of it once before.
    "mutex-async": { _ in
        let mutex = Mutex(0)
        await attempt("mutex") {
            mutex.withLock { $0 += 1 }
            return mutex.withLock { $0 + trap() }
        }
        say("the lock is free \(mutex.withLockIfAvailable { $0 } != nil)")
    },
    "mutex-switch": { number in
        let mutex = Mutex(number)
        await attempt("mutex") {
            mutex.withLock {
                switch $0 {
                case 0: return 5 + trap()
                case 1: return 7
                case 2: return 1
                case 3: return 9
                case 4: return getpid() > 0 ? 4 : 3
                default: return 0
                }
            }
        }
    },
    "pthread-mutex": { _ in
        await attempt("lock") {
            Hazard.pthreadMutex.commit()
            return 0
        }
    },
    "critical": { _ in
        await attempt("critical") { EventHost.withCriticalSection { trap() } }
    },
    "memory": { _ in
        await attempt("memory") {
            Fault.wildPointer.commit()
            return 0
        }
    },
    "task-memory": { _ in
        await attempt("task memory") {
            // Its newest piece (task_memory.h).
            withUnsafeCurrentTask { task in
                let place = unsafe unsafeBitCast(task, to: UInt.self) + 0x70
                unsafe UnsafeMutablePointer<UInt>(bitPattern: place)?.pointee = 0x10
            }
            return await deeper()
        }
    },
    "allocator": { _ in
        await attempt("allocator") {
            Hazard.mallocLock.commit()
            return 0
        }
    },
    "budget": { _ in
        for number in 1...3 { await attempt("budget \(number)") { trap() } }
    },
    "task-local-binding": { _ in
        // Bound inside the boundary: it goes with the task.
        await attempt("bound") { Local.$value.withValue("inside") { trap() } }
        say("local \(Local.value)")
        _ = trap()
    },
]
