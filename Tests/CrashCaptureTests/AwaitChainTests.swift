import CCrashCapture
import CRecoveryPoint
import Testing

@testable import CrashCapture

/// Chains of contexts in memory that was made up: only what verifies to its end is one.
@Suite struct AwaitChainTests {
    /// Contexts side by side, of two words each, and room between them.
    private final class Contexts {
        let words: UnsafeMutablePointer<UInt64>
        private let count: Int

        init(_ count: Int) {
            self.count = count
            words = .allocate(capacity: 4 * count)
            words.initialize(repeating: 0, count: 4 * count)
        }

        deinit { words.deallocate() }

        func address(_ index: Int) -> UInt64 { UInt64(UInt(bitPattern: words + 4 * index)) }

        /// Links each to the next one; the last has no caller.
        func link(resume: UInt64 = AwaitChainTests.function) {
            for index in 0..<count { set(index, parent: index + 1 < count ? address(index + 1) : 0, resume: resume) }
        }

        func set(_ index: Int, parent: UInt64, resume: UInt64 = AwaitChainTests.function) {
            words[4 * index] = parent
            words[4 * index + 1] = resume
        }
    }

    /// The start of a function that the unwind table describes.
    private static let function = hf_recovery_switch_start_address()

    private let walker: StackWalker
    private let chain = AwaitChain(runtime: 0..<0)

    init() throws {
        walker = try #require(StackWalker.own())
    }

    @Test(arguments: [1, 2, 3, 100, 512])
    func `A chain that ends is as long as it is`(count: Int) {
        let contexts = Contexts(count)
        contexts.link()
        #expect(chain.verifiedLength(of: contexts.address(0), with: walker) == count)
    }

    @Test func `One that is longer than any is none`() {
        let contexts = Contexts(513)
        contexts.link()
        #expect(chain.verifiedLength(of: contexts.address(0), with: walker) == nil)
    }

    @Test(arguments: 1...9, 0...3)
    func `A circle is none, wherever it begins`(length: Int, lead: Int) {
        let contexts = Contexts(lead + length)
        contexts.link()
        contexts.set(lead + length - 1, parent: contexts.address(lead))
        #expect(chain.verifiedLength(of: contexts.address(0), with: walker) == nil)
    }

    @Test(
        arguments: [
            function + 1, function + 16, hf_recovery_landing_address(), 0, 1, 0x1000, .max, 0x8000_0000_0000,
        ] as [UInt64]
    )
    func `A link that does not go on at the start of a function is none`(resume: UInt64) {
        let contexts = Contexts(3)
        contexts.link()
        contexts.set(1, parent: contexts.address(2), resume: resume)
        #expect(chain.verifiedLength(of: contexts.address(0), with: walker) == nil)
    }

    @Test(arguments: [1, 4, 0x1000, 0x7fff_ffff_f000, .max, 0xdead_beef_dead_bee8] as [UInt64])
    func `A caller's context that is misaligned or not there is none`(parent: UInt64) {
        let contexts = Contexts(2)
        contexts.link()
        contexts.set(1, parent: parent)
        #expect(chain.verifiedLength(of: contexts.address(0), with: walker) == nil)
        #expect(chain.verifiedLength(of: parent, with: walker) == nil)
    }

    @Test func `A context is found below the frame pointer, in its register, or in the frame, and else nowhere`() {
        let contexts = Contexts(2)
        contexts.link()
        let frame = UnsafeMutablePointer<UInt64>.allocate(capacity: 64)
        frame.initialize(repeating: 7, count: 64)
        defer { frame.deallocate() }
        let (low, high) = (UInt64(UInt(bitPattern: frame)), UInt64(UInt(bitPattern: frame + 32)))
        let place = AwaitChain.Frame(stackPointer: low, framePointer: high, contextRegister: 0)
        #expect(chain.context(in: place, with: walker) == nil)
        var inRegister = place
        inRegister.contextRegister = contexts.address(1)
        #expect(chain.context(in: inRegister, with: walker) == contexts.address(1))
        frame[5] = contexts.address(0)
        walker.forgetMemory()
        #expect(chain.context(in: place, with: walker) == contexts.address(0))
        frame[31] = contexts.address(1)
        walker.forgetMemory()
        #expect(chain.context(in: place, with: walker) == contexts.address(1))
    }

    // MARK: Tasks

    /// A task in made-up memory: the words of its head, and of what follows it.
    private final class MadeUpTask {
        let words: UnsafeMutablePointer<UInt64>
        private static let count = 64

        init(id: UInt64 = 7, isChildOf parent: MadeUpTask? = nil) {
            words = .allocate(capacity: Self.count)
            words.initialize(repeating: 0, count: Self.count)
            words[4] = id << 32 | (parent == nil ? 0 : 1 << 24) | 0x1900
            if let parent { words[hf_task_size() / 8] = parent.address }
        }

        deinit { words.deallocate() }

        var address: UInt64 { UInt64(UInt(bitPattern: words)) }

        func wait(at function: UInt64 = AwaitChainTests.function, in context: UInt64) {
            words[7] = function
            words[8] = context
        }
    }

    private func look(at task: UInt64) -> HFLookedTask {
        var look = HFLookedTask()
        look.task = task
        chain.look(at: &look, with: walker)
        return look
    }

    @Test func `A task that waits has its place and the chain behind it`() {
        let contexts = Contexts(3)
        contexts.link()
        let task = MadeUpTask()
        task.wait(in: contexts.address(0))
        let look = look(at: task.address)
        #expect(look.id == 7 && look.flags >> 8 & 0xff == 0x19)
        // The place, and a caller for each context but the last, which is the runtime's.
        #expect(look.await_count == 3 && look.awaits.0 == Self.function && look.awaits.2 == Self.function)
        #expect(look.sibling == 0 && look.child_count == 0)
    }

    @Test(arguments: [0, 1, function + 1, 0x1000, .max] as [UInt64])
    func `One that goes on nowhere, or waits in a circle, has no chain`(place: UInt64) {
        let contexts = Contexts(2)
        contexts.link()
        let task = MadeUpTask()
        task.wait(at: place, in: contexts.address(0))
        #expect(look(at: task.address).await_count == 0)
        task.wait(in: place)
        #expect(look(at: task.address).await_count == 0)
        contexts.set(1, parent: contexts.address(0))
        task.wait(in: contexts.address(0))
        #expect(look(at: task.address).await_count == 0)
    }

    @Test(arguments: [1, 4, 0x1000, 0x7fff_ffff_f000, .max, 0xdead_beef_dead_bee8] as [UInt64])
    func `What is no task has no look`(address: UInt64) {
        let look = look(at: address)
        #expect(look.flags == 0 && look.await_count == 0 && look.child_count == 0)
    }

    @Test func `A child names its parent's next child, and a foreign one is none`() {
        let (parent, other) = (MadeUpTask(), MadeUpTask())
        let child = MadeUpTask(isChildOf: parent)
        child.words[hf_task_size() / 8 + 1] = other.address
        #expect(look(at: child.address).sibling == other.address)
        // Nobody has seen a task of the runtime in this process, so where its status is is not known.
        #expect(look(at: parent.address).status == 0 && look(at: parent.address).child_count == 0)
    }
}
