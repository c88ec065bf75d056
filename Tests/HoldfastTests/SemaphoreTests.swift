import Glibc
import LinuxSystem
import Synchronization
import Testing

@testable import Holdfast

/// What the report writer sleeps on.
@Suite(.timeLimit(.minutes(10))) struct SemaphoreTests {
    /// A thread that waits for signals, one after the other.
    private final class Waiter: Sendable {
        let semaphore = Semaphore()
        let id = Atomic<Int32>(0)
        let taken = Atomic<Int>(0)
        private let count: Int

        /// Begins to wait for some signals.
        init(_ count: Int) {
            self.count = count
            var thread = pthread_t()
            let argument = Unmanaged.passRetained(self).toOpaque()
            let error = pthread_create(
                &thread,
                nil,
                { argument in
                    guard let argument else { return nil }
                    Unmanaged<Waiter>.fromOpaque(argument).takeRetainedValue().run()
                    return nil
                },
                argument
            )
            precondition(error == 0, "no thread for a test")
            pthread_detach(thread)
        }

        private func run() {
            id.store(ThreadIdentity.id, ordering: .releasing)
            for _ in 0..<count {
                semaphore.wait(atMost: .seconds(5000))
                taken.add(1, ordering: .releasing)
            }
        }

        /// The system call that the thread sleeps in: its number and arguments, as in /proc/PID/task/TID/syscall.
        var systemCall: [UInt64] {
            guard let file = fopen("/proc/self/task/\(id.load(ordering: .acquiring))/syscall", "r") else { return [] }
            defer { fclose(file) }
            var bytes = [UInt8](repeating: 0, count: 256)
            let count = fread(&bytes, 1, bytes.count, file)
            return String(decoding: bytes[..<count], as: UTF8.self).split(whereSeparator: \.isWhitespace).compactMap {
                $0.hasPrefix("0x") ? UInt64($0.dropFirst(2), radix: 16) : UInt64($0)
            }
        }
    }

    @Test func `A wait with a limit sleeps on the monotonic clock, which nobody can set back`() {
        let waiter = Waiter(1)
        // futex(2): its number, the address, the operation.
        var call: [UInt64] = []
        while call.first != 202 {
            call = waiter.systemCall
            sched_yield()
        }
        // FUTEX_CLOCK_REALTIME
        #expect(call[2] & 256 == 0)
        waiter.semaphore.signal()
        while waiter.taken.load(ordering: .acquiring) == 0 { sched_yield() }
    }

    @Test func `Each signal ends one wait, now or later, and a wait without one ends at its limit`() {
        let waiter = Waiter(10_000)
        for _ in 0..<10_000 { waiter.semaphore.signal() }
        while waiter.taken.load(ordering: .acquiring) < 10_000 { sched_yield() }
        let semaphore = Semaphore()
        semaphore.wait(atMost: .milliseconds(1))
        semaphore.wait(atMost: .zero)
        semaphore.signal()
        semaphore.signal()
        semaphore.wait()
        semaphore.drain()
        semaphore.wait(atMost: .milliseconds(1))
    }
}
