import Dispatch
import FaultInjection
import Glibc
import Holdfast
import Synchronization

/// What the thread and the process need.
extension Repertoire {
    /// Whether a body returns on the loop's thread, and on a fresh one.
    private func returnsEverywhere(_ body: @escaping @Sendable () -> Void) -> Bool {
        happens { done in
            loop.perform(label: "check") {
                body()
                done()
            }
        }
            && happens { done in
                try? PlainThread.start {
                    body()
                    done()
                }
            }
    }

    func checkThread() {
        check("signal mask and alternate stack") { threadIsAsBefore() }
        check("no task is current") {
            (try? loop.performAndWait(within: Driver.patience) { withUnsafeCurrentTask { $0 == nil } }) == true
        }
        check("no task-local and no exception") {
            (try? loop.performAndWait(within: Driver.patience) { Hazard.leavesTraces }) == false
        }
        check("checked accesses") {
            let account = Account()
            return returnsEverywhere { modify(&account.balance, &account.limit) } && account.balance == 2
        }
    }

    func checkProcess() {
        check("Mutex") {
            let counter = Counter()
            return returnsEverywhere { counter.count.withLock { $0 += 1 } } && counter.count.withLock { $0 } == 2
        }
        check("pthread mutex") {
            let lock = PlainLock()
            return returnsEverywhere {
                pthread_mutex_lock(lock.mutex)
                pthread_mutex_unlock(lock.mutex)
            }
        }
        check("allocation") { returnsEverywhere { allocate() } }
        check("print") {
            returnsEverywhere {
                print("printed")
                fflush(nil)
            }
        }
        let isMain = isMain
        check("lazy globals") { returnsEverywhere { _ = isMain ? madeForMain : madeForSecond } }
        check("new metadata") {
            returnsEverywhere { isMain ? touchMetadata(of: Fresh<UInt8>.self) : touchMetadata(of: Fresh<UInt16>.self) }
        }
    }
}

private final class Account: @unchecked Sendable {
    var balance = 0
    var limit = 0
}

@inline(never)
private func modify(_ first: inout Int, _ second: inout Int) {
    first += 1
    second += 1
}

private final class Counter: Sendable {
    let count = Mutex(0)
}

private final class PlainLock: @unchecked Sendable {
    let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() {
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        mutex.deallocate()
    }
}

/// Blocks of every class of the allocator.
@inline(never)
private func allocate() {
    let blocks = [24, 200, 1000, 2040, 5000, 100_000, 1_000_000].map { malloc($0) }
    for case let block? in blocks {
        memset(block, 1, 24)
        free(block)
    }
}

// Touched for the first time after the fault.
private let madeForMain = [getpid()]
private let madeForSecond = [getppid()]

private struct Fresh<Value> {
    var value: Value?
}

@inline(never)
private func touchMetadata<Value>(of type: Value.Type) {
    let name = "\(Fresh<Fresh<Value>>.self) \(MemoryLayout<Fresh<[Value]>>.size)"
    precondition(!name.isEmpty)
}
