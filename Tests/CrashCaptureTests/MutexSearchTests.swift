import CCrashCapture
import CRecoveryPoint
import Glibc
import TestSupport
import Testing

@testable import CrashCapture

/// In the data of the executable from the beginning, and put there later.
private nonisolated(unsafe) var constant: UInt32 = 0x1c37_9a2f
private nonisolated(unsafe) var held: UInt32 = 0

/// Whatever is at the place, it may be read by what the compiler does not see.
@inline(never) @_optimize(none)
private func show(_ place: UnsafeMutablePointer<UInt32>) {}

/// A thread's id where a lock may be is one; where none can be, it is a number.
@Suite(.serialized) struct MutexSearchTests {
    private let walker: StackWalker
    private let initialData: InitialData

    init() throws {
        walker = try #require(StackWalker.own())
        let place = withUnsafePointer(to: &constant) { UInt64(UInt(bitPattern: $0)) }
        let executable = walker.images.image(at: place)
        initialData = InitialData(of: try #require(executable).pointee)
    }

    /// Whether a thread with this id seems to hold a lock, as its registers are.
    private func isFound(_ thread: UInt32, registers: [UInt64] = []) -> Bool {
        show(&constant)
        show(&held)
        var search = MutexSearch(thread: CInt(bitPattern: thread), initialData: initialData)
        return search.findsLock(registers: registers, stack: 0..<0, images: walker.images)
    }

    @Test func `A lock in the executable's data is found, a constant there is not`() {
        #expect(constant == 0x1c37_9a2f)
        #expect(!isFound(0x1c37_9a2f))
        #expect(!isFound(0x1c37_9a2e))
        held = 0x1c37_9a2e
        #expect(isFound(0x1c37_9a2e))
        held = 0x8000_0000 | 0x1c37_9a2e
        #expect(isFound(0x1c37_9a2e), "somebody waits for it")
        constant = 0x1c37_9a2e
        held = 0
        #expect(isFound(0x1c37_9a2e), "what was there is not there any more")
        constant = 0x1c37_9a2f
    }

    @Test func `A lock in an object that a register refers to is found, a number in code is not`() {
        let object = UnsafeMutablePointer<UInt32>.allocate(capacity: 256)
        defer { object.deallocate() }
        object.initialize(repeating: 0, count: 256)
        let address = UInt64(UInt(bitPattern: object))
        #expect(!isFound(0x2c37_9a2e, registers: [address]))
        object[40] = 0x2c37_9a2e
        #expect(isFound(0x2c37_9a2e, registers: [address]))
        show(object)
        let code = hf_recovery_switch_start_address()
        let word = UnsafePointer<UInt32>(bitPattern: UInt(code)).map { $0[0] & 0x3fff_ffff }
        let isReadOnly = walker.images.isReadOnlyImageMemory(code, count: 4)
        #expect(isReadOnly)
        #expect(word.map { isFound($0, registers: [code]) } == false)
    }
}
