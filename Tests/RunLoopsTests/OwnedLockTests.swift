import CLinuxShims
import Glibc
import RecoveryTestSupport
import TestSupport
import Testing

@testable import RunLoops

/// A lock with what it protects.
private final class Protected: @unchecked Sendable {
    private let lock: OwnedLock
    /// Changed by plain instructions: an update is lost where two threads are inside at once.
    var number = 0
    /// Whether the other threads have ended their work.
    let othersAreDone = Flag()

    init(patience: UInt32) { lock = OwnedLock(patience: patience) }

    func own() { lock.own() }
    func disown() { lock.disown() }
    func enter() { lock.lock() }
    func tryToEnter() -> Bool { lock.tryLock() }
    func leave() { lock.unlock() }
    func add() { lock.withLock { number += 1 } }
    var interruptions: UInt32 { lock.interruptionCount }
}

@Suite("The lock of a loop", .serialized, .timeLimit(.minutes(10)))
struct OwnedLockTests {
    @Test(
        "No two threads are inside, however often the owner goes without the mutex and is stopped from it",
        arguments: [0, 1, 3, 64] as [UInt32]
    )
    func exclusion(patience: UInt32) throws {
        let rounds = 40_000
        let protected = Protected(patience: patience)
        let owner = NewThread { _ in
            protected.own()
            var entries = 0
            while !protected.othersAreDone.isSet {
                protected.add()
                entries += 1
            }
            return entries
        }
        let others = (0..<2).map { index in
            NewThread { _ in
                for round in 0..<rounds {
                    if index == 0 || round % 2 == 0 {
                        protected.add()
                    } else {
                        guard protected.tryToEnter() else {
                            protected.add()
                            continue
                        }
                        protected.number += 1
                        protected.leave()
                    }
                    // The owner must get the time to go without again.
                    for _ in 0..<(round % 16) { sched_yield() }
                }
            }
        }
        for other in others { _ = try other.join() }
        protected.othersAreDone.set()
        let entries = try owner.join()
        #expect(protected.number == entries + 2 * rounds)
        #expect((protected.interruptions > 0) == (patience > 0 && hf_has_barrier_on_all_threads()))
    }

    @Test("Others stop the owner once, until it has taken the mutex long enough, which is twice as often each time")
    func patience() throws {
        guard hf_has_barrier_on_all_threads() else { return }
        let protected = Protected(patience: 4)
        let enterByOther = { _ = try NewThread { _ in protected.add() }.join() }
        protected.own()
        try enterByOther()
        #expect(protected.interruptions == 0)
        for _ in 0..<4 { protected.add() }
        try enterByOther()
        try enterByOther()
        #expect(protected.interruptions == 1)
        for _ in 0..<7 { protected.add() }
        try enterByOther()
        #expect(protected.interruptions == 1)
        for _ in 0..<8 { protected.add() }
        try enterByOther()
        #expect(protected.interruptions == 2)
        #expect(protected.number == 4 + 7 + 8 + 5)
    }

    @Test(
        "Trying fails as long as another thread is inside, whichever way that came in",
        arguments: [1, 1000] as [UInt32]
    )
    func trying(patience: UInt32) throws {
        let protected = Protected(patience: patience)
        let tryByOther = {
            try NewThread { _ in
                guard protected.tryToEnter() else { return false }
                protected.leave()
                return true
            }.join()
        }
        protected.own()
        for _ in 0..<2 {
            protected.enter()
            #expect(try !tryByOther())
            protected.leave()
            // Only while the owner uses the mutex, too.
            #expect(try tryByOther() == (patience > 1 || !hf_has_barrier_on_all_threads()))
        }
        let isInside = Flag()
        let isSeen = Flag()
        let other = NewThread { _ in
            protected.enter()
            isInside.set()
            while !isSeen.isSet { sched_yield() }
            protected.leave()
        }
        while !isInside.isSet { sched_yield() }
        #expect(!protected.tryToEnter())
        isSeen.set()
        _ = try other.join()
        #expect(protected.tryToEnter())
        protected.leave()
    }

    @Test("Who comes after a thread that tried in vain waits, too")
    func afterTrying() throws {
        let protected = Protected(patience: 1)
        protected.own()
        protected.add()
        protected.enter()
        #expect(try !NewThread { _ in protected.tryToEnter() }.join())
        let isThere = Flag()
        let other = NewThread { _ in
            isThere.set()
            protected.enter()
            defer { protected.leave() }
            return protected.number
        }
        while !isThere.isSet { sched_yield() }
        // Time for a thread that does not wait.
        for _ in 0..<10_000 { sched_yield() }
        protected.number = 7
        protected.leave()
        #expect(try other.join() == 7)
    }

    @Test("A thread that leaves it gives it back, whichever way it had it", arguments: [1, 1000] as [UInt32])
    func disowning(patience: UInt32) throws {
        let protected = Protected(patience: patience)
        try NewThread { _ in
            protected.own()
            for _ in 0..<3 { protected.add() }
            protected.disown()
            // It has no way of its own any more.
            for _ in 0..<3 { protected.add() }
        }.join()
        #expect(try NewThread { _ in protected.tryToEnter() }.join())
        protected.leave()
        #expect(protected.number == 6)
    }

    @Test("In a forked child, threads can be asked to pass a barrier, as in its parent")
    func fork() async {
        await #expect(processExitsWith: .success) {
            let child = hf_test_fork()
            if child == 0 { _exit(hf_barrier_on_all_threads() ? 0 : 1) }
            #expect((hf_test_wait(child) == 0) == hf_has_barrier_on_all_threads())
        }
    }
}
