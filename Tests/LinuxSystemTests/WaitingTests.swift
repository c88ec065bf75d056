import Glibc
import LinuxSystem
import Synchronization
import SystemPackage
import Testing

/// What waits, and what ends a wait.
@Suite(.timeLimit(.minutes(10)))
struct WaitingTests {
    /// What is ready now: the tokens.
    private func ready(_ epoll: borrowing Epoll, blocks: Bool = false) -> [UInt64] {
        var queue = EventQueue()
        epoll.wait(into: &queue, blocks: blocks)
        var tokens: [UInt64] = []
        while let event = queue.next() { tokens.append(event.token) }
        return tokens
    }

    @Test("epoll tells which descriptors are ready")
    func epoll() throws {
        let epoll = try Epoll()
        let first = try EventDescriptor()
        let second = try EventDescriptor()
        try epoll.add(first.rawValue, events: .readable, token: 1)
        try epoll.add(second.rawValue, events: .readable, token: 2)
        let none = ready(epoll)
        second.notify()
        let one = ready(epoll, blocks: true)
        first.notify()
        let both = ready(epoll)
        second.clear()
        let other = ready(epoll)
        #expect(none == [])
        #expect(one == [2])
        #expect(both.sorted() == [1, 2])
        #expect(other == [1])
    }

    @Test("An event that was put back comes again")
    func putBack() throws {
        let epoll = try Epoll()
        let event = try EventDescriptor()
        try epoll.add(event.rawValue, events: .readable, token: 7)
        event.notify()
        var queue = EventQueue()
        epoll.wait(into: &queue, blocks: true)
        let first = queue.next()
        queue.putBack()
        let again = queue.next()
        let isEmpty = queue.isEmpty
        #expect(first?.token == 7 && first?.events == .readable)
        #expect(again?.token == 7)
        #expect(isEmpty)
    }

    @Test("A descriptor is watched once, and no longer when it was removed")
    func watchedOnce() throws {
        let epoll = try Epoll()
        let event = try EventDescriptor()
        try epoll.add(event.rawValue, events: .readable, token: 1)
        #expect(throws: Errno.fileExists) { try epoll.add(event.rawValue, events: .readable, token: 1) }
        try epoll.remove(event.rawValue)
        #expect(throws: Errno.noSuchFileOrDirectory) { try epoll.remove(event.rawValue) }
    }

    @Test("A timer that is due in the past ends a wait; one that is never due does not")
    func timer() throws {
        let epoll = try Epoll()
        let timer = try TimerDescriptor()
        try epoll.add(timer.rawValue, events: .readable, token: 9)
        timer.set(to: 0)
        let due = ready(epoll, blocks: true)
        timer.set(to: nil)
        let never = ready(epoll)
        #expect(due == [9])
        #expect(never == [])
    }

    @Test("A lock lets one thread in at a time")
    func lock() throws {
        final class Counter: @unchecked Sendable {
            let lock = FutexLock()
            /// Protected by `lock`.
            var count = 0
        }
        let counter = Counter()
        let threads = try (0..<4).map { number in
            try NativeThread(name: "adder \(number)") {
                for _ in 0..<20_000 {
                    counter.lock.lock()
                    counter.count += 1
                    counter.lock.unlock()
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(counter.count == 80_000)
    }

    @Test("A brief lock lets one thread in at a time, even if its owner is interrupted")
    func briefLock() throws {
        final class Counter: @unchecked Sendable {
            let lock = BriefLock()
            /// Protected by `lock`.
            var count = 0
        }
        let counter = Counter()
        let threads = try (0..<4).map { number in
            try NativeThread(name: "adder \(number)") {
                for index in 0..<20_000 {
                    counter.lock.lock()
                    let count = counter.count
                    // The others find the lock held for longer than they spin.
                    if index % 1000 == 0 { sched_yield() }
                    counter.count = count + 1
                    counter.lock.unlock()
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(counter.count == 80_000)
    }

    @Test("A lock is tried without waiting")
    func tryLock() {
        let lock = FutexLock()
        let first = lock.tryLock()
        let second = lock.tryLock()
        lock.unlock()
        let third = lock.tryLock()
        lock.unlock()
        #expect(first)
        #expect(!second)
        #expect(third)
    }

    @Test("A thread waits at a monitor until it is signalled, and not beyond its deadline")
    func monitor() throws {
        final class Gate: @unchecked Sendable {
            let monitor = Monitor()
            /// Protected by `monitor`.
            var isOpen = false
        }
        let gate = Gate()
        let thread = try NativeThread(name: "waits") {
            gate.monitor.lock()
            while !gate.isOpen { _ = gate.monitor.wait(before: .max) }
            gate.isOpen = false
            gate.monitor.unlock()
        }
        gate.monitor.lock()
        gate.isOpen = true
        gate.monitor.broadcast()
        gate.monitor.unlock()
        thread.join()
        gate.monitor.lock()
        #expect(!gate.isOpen)
        let isSignalled = gate.monitor.wait(before: MonotonicClock.nanoseconds - 1)
        gate.monitor.unlock()
        #expect(!isSignalled)
    }

    @Test("A thread has as much of its name as the kernel keeps, and is joined once")
    func thread() throws {
        let name = Mutex("")
        let thread = try NativeThread(name: "a name of more than fifteen bytes", stackSize: 100_000) {
            let text = try? FilePath("/proc/thread-self/comm").contents()
            name.withLock { $0 = text ?? "" }
        }
        thread.join()
        thread.join()
        #expect(name.withLock { $0 } == "a name of more \n")
    }

    @Test("A call that was interrupted is made again, unless the caller wants to know")
    func interrupted() {
        var calls = 0
        let value = try? SystemCall.checked { () -> Int in
            calls += 1
            errno = EINTR
            return calls < 3 ? -1 : 7
        }
        #expect(value == 7)
        #expect(calls == 3)
        #expect(throws: Errno.interrupted) {
            try SystemCall.checked(retryOnInterrupt: false) { () -> Int in
                errno = EINTR
                return -1
            }
        }
    }
}

extension FilePath {
    fileprivate func contents() throws -> String {
        let file = try OwnedDescriptor(reading: self, followingLinks: true)
        return String(decoding: try file.readAll(limit: 4096), as: UTF8.self)
    }
}
