import CRecoveryPoint
import Synchronization
import Testing

@testable import RunLoops

/// Closures that are released without a locked instruction.
@Suite struct KeptClosureTests {
    private final class Guardian: Sendable {
        let ends: Counter
        init(_ ends: Counter) { self.ends = ends }
        deinit { ends.value.add(1, ordering: .relaxed) }
    }

    private final class Counter: Sendable {
        let value = Atomic<Int>(0)
        var count: Int { value.load(ordering: .relaxed) }
    }

    private static func kept(_ closure: @escaping @Sendable () -> Void) -> KeptClosure {
        KeptClosure(PlainBlockClosure(closure: closure))
    }

    @Test("The runtime counts references as the release expects")
    func counts() {
        let counter = Counter()
        let object = Unmanaged.passRetained(Guardian(counter))
        let address = object.toOpaque()
        func hasOneReference() -> Bool {
            address.load(fromByteOffset: 8, as: UInt64.self) == UInt64(HF_ONLY_REFERENCE)
        }
        #expect(hasOneReference())
        _ = object.retain()
        #expect(!hasOneReference())
        object.release()
        #expect(hasOneReference())
        do {
            unowned let other = object.takeUnretainedValue()
            #expect(!hasOneReference())
            withExtendedLifetime(other) {}
        }
        #expect(hasOneReference())
        weak let other = object.takeUnretainedValue()
        #expect(!hasOneReference())
        withExtendedLifetime(other) {}
        object.release()
        #expect(counter.count == 1)
    }

    @Test("What it captures ends with it, and not before")
    func only() {
        let counter = Counter()
        do {
            let guardian = Guardian(counter)
            let closure = Self.kept { withExtendedLifetime(guardian) {} }
            for _ in 0..<3 { closure.with(PlainBlockClosure.self) { $0.call() } }
            #expect(counter.count == 0)
        }
        #expect(counter.count == 1)
    }

    @Test("A closure that somebody else keeps goes on")
    func shared() {
        let counter = Counter()
        do {
            let guardian = Guardian(counter)
            let other: @Sendable () -> Void = { withExtendedLifetime(guardian) {} }
            do { _ = Self.kept(other) }
            do { _ = Self.kept(other) }
            other()
            #expect(counter.count == 0)
        }
        #expect(counter.count == 1)
    }

    @Test("A closure without memory is none to release")
    func plain() {
        let closure = Self.kept {}
        #expect(closure.address == 0)
        closure.with(PlainBlockClosure.self) { $0.call() }
    }

    @Test("Threads that end a closure together end it once", .timeLimit(.minutes(1)))
    func together() throws {
        let counter = Counter()
        let rounds = 2000
        for _ in 0..<rounds {
            let guardian = Guardian(counter)
            let closure: @Sendable () -> Void = { withExtendedLifetime(guardian) {} }
            let thread = NewThread { _ in
                let kept = Self.kept(closure)
                kept.with(PlainBlockClosure.self) { $0.call() }
            }
            do { _ = Self.kept(closure) }
            try thread.join()
        }
        #expect(counter.count == rounds)
    }
}
