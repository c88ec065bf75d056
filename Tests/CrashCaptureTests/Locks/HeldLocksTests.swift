import TestSupport
import Testing

@testable import CrashCapture
@testable import Symbolication

/// Where a lock is held is told by the ways through the code.
@Suite(.timeLimit(.minutes(10))) struct HeldLocksTests {
    /// Offsets that stand for the functions that are called.
    private enum Called {
        static let lock = 0x1000
        static let unlock = 0x2000
        static let release = 0x3000
        static let other = 0x4000
        static let acquire = 0x5000
    }

    /// Puts code together, with labels instead of offsets.
    private struct Assembler {
        private(set) var code: [UInt8] = []
        private(set) var labels: [String: Int] = [:]
        private var jumps: [(place: Int, label: String)] = []

        mutating func label(_ name: String) { labels[name] = code.count }
        mutating func bytes(_ bytes: UInt8...) { code += bytes }
        /// Adds `lock cmpxchg %ecx, 0x10(%rdi)`.
        mutating func exchange() { code += [0xf0, 0x0f, 0xb1, 0x4f, 0x10] }
        mutating func jump(_ opcode: UInt8..., to label: String) {
            code += opcode + [0, 0, 0, 0]
            jumps.append((code.count, label))
        }
        mutating func jumpIfNotEqual(to label: String) { jump(0x0f, 0x85, to: label) }
        mutating func call(_ target: Int) {
            let operand = UInt32(bitPattern: Int32(target - code.count - 5))
            code += [0xe8] + (0..<4).map { UInt8(truncatingIfNeeded: operand >> (8 * $0)) }
        }
        /// Adds `ret`.
        mutating func end() { code.append(0xc3) }
        /// Adds `jmp *%rax`.
        mutating func jumpAnywhere() { code += [0xff, 0xe0] }
        /// Adds the end of an async function: `pop %rbp; btr $60, %rbp; jmp *%rax`.
        mutating func endAsync() {
            code += [0x5d, 0x48, 0x0f, 0xba, 0xf5, 0x3c]
            jumpAnywhere()
        }

        mutating func finish() {
            for jump in jumps {
                let operand = UInt32(bitPattern: Int32((labels[jump.label] ?? 0) - jump.place))
                for index in 0..<4 { code[jump.place - 4 + index] = UInt8(truncatingIfNeeded: operand >> (8 * index)) }
            }
        }

        /// Takes a lock, with the way for the case that it is held elsewhere.
        mutating func take(_ name: String) {
            exchange()
            jumpIfNotEqual(to: "slow " + name)
            label("taken " + name)
        }
        mutating func slowWay(_ name: String, _ target: Int) {
            label("slow " + name)
            call(target)
            jump(0xe9, to: "taken " + name)
        }
    }

    private func locks(_ assembler: Assembler, holding: UInt8 = 0) -> HeldLocks? {
        var assembler = assembler
        assembler.finish()
        return HeldLocks(
            in: assembler.code,
            holding: holding,
            effectOfCall: {
                switch $0 {
                case Called.lock: .takes
                case Called.unlock: .letsGo
                case Called.release: .releases
                case Called.acquire: .acquires
                default: .none
                }
            },
            effectOfPlace: { _ in .none }
        )
    }

    @Test func `A lock is held from where it is taken to where it is let go`() throws {
        var code = Assembler()
        code.label("before")
        code.call(Called.other)
        code.take("lock")
        code.label("inside")
        code.call(Called.other)
        code.take("unlock")
        code.label("behind")
        code.call(Called.other)
        code.label("trap")
        code.bytes(0x0f, 0x0b)
        code.slowWay("lock", Called.lock)
        code.slowWay("unlock", Called.unlock)
        let held = try #require(locks(code))
        let labels = code.labels
        for (label, isHeld) in [("before", false), ("inside", true), ("behind", false), ("trap", false)] {
            let place = try #require(labels[label])
            #expect(held.mayBeHeld(at: place, isExact: true) == isHeld, "\(label)")
            if label != "trap" { #expect(held.mayBeHeld(at: place + 4, isExact: false) == isHeld, "\(label)") }
        }
        #expect(held.atEnd == 0)
        let unlocking = try #require(labels["slow unlock"])
        #expect(held.mayBeHeld(at: unlocking, isExact: true) == true, "it failed to let go, and has not called yet")
        #expect(held.mayBeHeld(at: labels["inside"]! + 1, isExact: true) == nil, "no instruction begins there")
    }

    @Test func `A function that lets go for another is one that counts`() throws {
        var code = Assembler()
        code.take("lock")
        code.call(Called.other)
        code.call(Called.release)
        code.label("behind")
        code.call(Called.other)
        code.end()
        code.slowWay("lock", Called.lock)
        let held = try #require(locks(code))
        let behind = try #require(code.labels["behind"])
        #expect(held.mayBeHeld(at: behind - 1, isExact: false) == true, "it is held while that function runs")
        #expect(held.mayBeHeld(at: behind + 4, isExact: false) == false)
    }

    @Test func `Something that is taken by a call alone is held until a call gives it back`() throws {
        var code = Assembler()
        code.call(Called.acquire)
        code.label("inside")
        code.call(Called.other)
        code.call(Called.release)
        code.label("behind")
        code.call(Called.other)
        code.end()
        let held = try #require(locks(code))
        let (inside, behind) = (try #require(code.labels["inside"]), try #require(code.labels["behind"]))
        #expect(held.mayBeHeld(at: inside - 1, isExact: false) == false, "it is waited for")
        #expect(held.mayBeHeld(at: inside + 4, isExact: false) == true)
        #expect(held.mayBeHeld(at: behind + 4, isExact: false) == false)
        #expect(held.atEnd == 0)
    }

    @Test(
        arguments: [
            ("dispatch_semaphore_wait", .acquires), ("dispatch_semaphore_signal", .releases),
            ("dispatch_group_enter", .acquires),
            ("dispatch_group_leave", .releases), ("dispatch_suspend", .acquires), ("dispatch_resume", .releases),
            ("$s8Dispatch0A9SemaphoreC4waityyF", .acquires), ("$s8Dispatch0A9SemaphoreC6signalSiyF", .releases),
            ("dispatch_async", nil), ("$s8Dispatch0A5GroupC6notify", nil), ("", nil),
        ] as [(String, HeldLocks.Effect?)]
    )
    func `What a static libdispatch's functions do is known by their names`(name: String, effect: HeldLocks.Effect?) {
        #expect(LockFunctions.effect(ofDispatch: name) == effect)
    }

    @Test func `Where ways meet, the one with a lock counts, and a loop comes to an end`() throws {
        var code = Assembler()
        code.bytes(0x85, 0xff)
        code.jumpIfNotEqual(to: "meet")
        code.take("lock")
        code.label("meet")
        code.call(Called.other)
        code.bytes(0x85, 0xff)
        code.jumpIfNotEqual(to: "meet")
        code.end()
        code.slowWay("lock", Called.lock)
        let held = try #require(locks(code))
        let meet = try #require(code.labels["meet"])
        #expect(held.mayBeHeld(at: meet + 4, isExact: false) == true)
        #expect(held.atEnd == 1)
    }

    @Test func `Two locks are held until both are let go, and taking in a loop has no end`() throws {
        var code = Assembler()
        code.take("outer")
        code.take("inner")
        code.take("inner end")
        code.label("one")
        code.call(Called.other)
        code.take("outer end")
        code.label("none")
        code.call(Called.other)
        code.end()
        for name in ["outer", "inner"] {
            code.slowWay(name, Called.lock)
            code.slowWay(name + " end", Called.unlock)
        }
        let held = try #require(locks(code))
        let labels = code.labels
        #expect(held.mayBeHeld(at: try #require(labels["one"]) + 4, isExact: false) == true)
        #expect(held.mayBeHeld(at: try #require(labels["none"]) + 4, isExact: false) == false)
        var loop = Assembler()
        loop.label("again")
        loop.take("lock")
        loop.bytes(0x85, 0xff)
        loop.jumpIfNotEqual(to: "again")
        loop.take("unlock")
        loop.label("behind")
        loop.call(Called.other)
        loop.end()
        loop.slowWay("lock", Called.lock)
        loop.slowWay("unlock", Called.unlock)
        let behind = try #require(loop.labels["behind"])
        #expect(try #require(locks(loop)).mayBeHeld(at: behind + 4, isExact: false) == true)
    }

    @Test func `An exchange that no call follows is somebody's atomic`() throws {
        var code = Assembler()
        code.label("again")
        code.exchange()
        code.jumpIfNotEqual(to: "again")
        code.label("behind")
        code.call(Called.other)
        code.end()
        let held = try #require(locks(code))
        #expect(held.mayBeHeld(at: try #require(code.labels["behind"]) + 4, isExact: false) == false)
    }

    @Test func `An async function ends by an indirect jump, with its lock let go`() throws {
        var code = Assembler()
        code.take("lock")
        code.label("inside")
        code.call(Called.other)
        code.take("unlock")
        code.label("behind")
        code.call(Called.other)
        code.endAsync()
        code.slowWay("lock", Called.lock)
        code.slowWay("unlock", Called.unlock)
        let held = try #require(locks(code))
        let (inside, behind) = (try #require(code.labels["inside"]), try #require(code.labels["behind"]))
        #expect(held.mayBeHeld(at: inside + 4, isExact: false) == true)
        #expect(held.mayBeHeld(at: behind + 4, isExact: false) == false)
        #expect(held.atEnd == 0)
    }

    @Test func `Where an indirect jump may lead without a lock, one is held from where it is taken`() throws {
        var code = Assembler()
        code.take("lock")
        code.take("unlock")
        // A `switch` with a table: nothing else leads to the two cases.
        code.jumpAnywhere()
        code.label("case without")
        code.call(Called.other)
        code.endAsync()
        code.take("other lock")
        code.label("case with")
        code.call(Called.other)
        code.take("other unlock")
        code.label("case behind")
        code.call(Called.other)
        code.end()
        for name in ["", "other "] {
            code.slowWay(name + "lock", Called.lock)
            code.slowWay(name + "unlock", Called.unlock)
        }
        let held = try #require(locks(code))
        for (label, isHeld) in [("case without", false), ("case with", true), ("case behind", false)] {
            let place = try #require(code.labels[label])
            #expect(held.mayBeHeld(at: place + 4, isExact: false) == isHeld, "\(label)")
        }
        #expect(held.atEnd == 0)
    }

    @Test func `Nothing is told of a function with an indirect jump while a lock is held`() {
        var code = Assembler()
        code.take("lock")
        code.jumpAnywhere()
        code.call(Called.other)
        code.take("unlock")
        code.end()
        code.slowWay("lock", Called.lock)
        code.slowWay("unlock", Called.unlock)
        #expect(locks(code) == nil)
        // On one path of two only, and also if that one is found last: it is the longer one.
        for longer in [false, true] {
            var meeting = Assembler()
            meeting.bytes(0x85, 0xff)
            meeting.jumpIfNotEqual(to: longer ? "end" : "taking")
            meeting.jump(0xe9, to: longer ? "taking" : "end")
            meeting.label("taking")
            meeting.take("lock")
            meeting.label("end")
            meeting.endAsync()
            meeting.slowWay("lock", Called.lock)
            #expect(locks(meeting) == nil, "\(longer)")
        }
    }

    @Test func `An indirect jump is not followed through code that does not read from its start, or that may be C++`() {
        /// A function that takes a lock, lets go, calls something, goes where `end` says, and has bytes behind.
        func function(_ middle: (inout Assembler) -> Void) -> Assembler {
            var code = Assembler()
            code.take("lock")
            code.take("unlock")
            middle(&code)
            code.endAsync()
            code.slowWay("lock", Called.lock)
            code.slowWay("unlock", Called.unlock)
            return code
        }
        #expect(locks(function { _ in }) != nil)
        // No path leads to the bytes between, which are no instruction; without an indirect jump, nobody would mind.
        #expect(
            locks(
                function {
                    $0.jump(0xe9, to: "over")
                    $0.bytes(0x06)
                    $0.label("over")
                }
            ) == nil
        )
        // A branch into an instruction: `mov $0x90909090, %eax` has four more of them.
        #expect(
            locks(
                function {
                    $0.jumpIfNotEqual(to: "within")
                    $0.bytes(0xb8)
                    $0.label("within")
                    $0.bytes(0x90, 0x90, 0x90, 0x90)
                }
            ) == nil
        )
        // What a semaphore is waited for with.
        #expect(
            locks(
                function {
                    $0.call(Called.acquire)
                    $0.call(Called.release)
                }
            ) == nil
        )
    }

    @Test func `What cannot be followed is not told`() {
        var unknown = Assembler()
        // No instruction in 64-bit mode.
        unknown.bytes(0x06)
        #expect(locks(unknown) == nil)
        var both = Assembler()
        both.exchange()
        both.jumpIfNotEqual(to: "slow")
        both.call(Called.lock)
        both.end()
        both.label("slow")
        both.call(Called.unlock)
        both.end()
        #expect(locks(both) == nil, "it takes the one way and lets go the other")
        #expect(locks(Assembler()) == nil)
        var behind = Assembler()
        behind.end()
        behind.bytes(0x90)
        #expect(locks(behind)?.mayBeHeld(at: 1, isExact: true) == .some(nil), "nothing leads there")
    }

    /// Swift's own: what is taken is let go on all ways.
    @Test(arguments: ["recovery-probe", "holdfast-agent"])
    func `Nearly all functions that use a Mutex are understood, and hold none when they return`(name: String) throws {
        let file = try #require(ELFFile(path: BuiltProduct.path(of: name)))
        let symbols = SymbolTable(of: file)
        // The fault that is committed with a Mutex held returns nowhere.
        let users = LockCalls(of: file, calling: LockFunctions(of: file, symbols: file, isStatic: true)).users
            .map { (name: symbols.symbol(at: $0.start)?.name ?? String($0.start, radix: 16), held: $0.held) }
            .filter { !$0.name.contains("faultMutex") }
        let understood = users.compactMap(\.held)
        let balanced = understood.filter { $0.atEnd == 0 }
        let others = users.filter { $0.held.map { $0.atEnd != 0 } ?? true }.map(\.name)
        #expect(users.count > 20)
        #expect(understood.count * 20 >= users.count * 19, "\(understood.count) of \(users.count)")
        #expect(balanced.count * 10 >= users.count * 9, "\(balanced.count) of \(users.count), not \(others)")
    }
}
