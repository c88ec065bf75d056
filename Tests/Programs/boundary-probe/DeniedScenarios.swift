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
