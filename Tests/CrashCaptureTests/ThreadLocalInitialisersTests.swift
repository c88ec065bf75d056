import Symbolication
import Testing

@testable import CrashCapture

/// Which machine code sets the guard of thread-local variables, as clang and the linker write it.
struct ThreadLocalInitialisersTests {
    private static let load: [UInt8] = [0x66, 0x66, 0x66, 0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0]
    private static let loadOther: [UInt8] = [0x64, 0x4c, 0x8b, 0x34, 0x25, 0, 0, 0, 0]
    private static let loadGuard: [UInt8] = [0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0]
    private static let setBelow: [UInt8] = [0xc6, 0x80, 0x5c, 0xff, 0xff, 0xff, 1]
    private static let setBelowOther: [UInt8] = [0x41, 0xc6, 0x86, 0x5c, 0xff, 0xff, 0xff, 1]

    private static let copyToRBX: [UInt8] = [0x48, 0x89, 0xc3]
    private static let setBelowRBX: [UInt8] = [0xc6, 0x83, 0x5c, 0xff, 0xff, 0xff, 1]
    private static let setBelowFrame: [UInt8] = [0xc6, 0x85, 0x5c, 0xff, 0xff, 0xff, 1]

    @Test(
        arguments: [
            ([0x64, 0xc6, 0x04, 0x25, 0x5c, 0xff, 0xff, 0xff, 1], true),
            (load + setBelow, true),
            (loadOther + setBelowOther, true),
            ([0x90] + load + [0x90, 0x90] + setBelow + [0xc3], true),
            // As GCC writes it without optimisation: LEA -4(%rax), %rax, and MOVB $1, (%rax).
            (load + [0x48, 0x8d, 0x40, 0xfc, 0xc6, 0x00, 1], true),
            // The initial exec model: MOVB $1, %fs:(%rax), and MOVB $1, %fs:(%r9).
            ([0x64, 0xc6, 0x00, 1], true),
            ([0x64, 0x41, 0xc6, 0x01, 1], true),
            // The same by an addition: MOV offset, %rax; ADD %fs:0, %rax; MOVB $1, (%rax).
            ([0x64, 0x48, 0x03, 0x04, 0x25, 0, 0, 0, 0, 0xc6, 0x00, 1], true),
            // Kept in another register, and on the stack.
            (load + copyToRBX + setBelowRBX, true),
            (load + [0x48, 0x89, 0x45, 0xf0] + [0x90] + [0x48, 0x8b, 0x5d, 0xf0] + setBelowRBX, true),
            (load + [0x48, 0x89, 0x44, 0x24, 0x08, 0x48, 0x8b, 0x5c, 0x24, 0x08] + setBelowRBX, true),
            // A loop, in which it is copied behind the place that uses it.
            (setBelowRBX + load + copyToRBX, true),
            // With a register that takes an index byte: MOV %fs:0, %r12; MOVB $1, -164(%r12).
            ([0x64, 0x4c, 0x8b, 0x24, 0x25, 0, 0, 0, 0, 0x41, 0xc6, 0x84, 0x24, 0x5c, 0xff, 0xff, 0xff, 1], true),
            // A flag of the function's own in a large frame, or below another pointer, beside a use of the thread pointer.
            (load + setBelowFrame, false),
            (setBelowFrame + loadOther + setBelowFrame, false),
            (load + setBelowRBX, false),
            (load + [0x48, 0x89, 0x03] + [0x48, 0x89, 0xdd] + setBelowRBX, false),
            (loadOther + setBelow, false),
            (load + [0xc6, 0x00, 1], false),
            // MOVB $1, -164(%rax,%rcx)
            (load + [0xc6, 0x84, 0x08, 0x5c, 0xff, 0xff, 0xff, 1], false),
            // A zero, an address above, a field of an object, and a stack protector's value.
            ([0x64, 0xc6, 0x04, 0x25, 0x5c, 0xff, 0xff, 0xff, 0], false),
            ([0x64, 0xc6, 0x04, 0x25, 0x5c, 0, 0, 0, 1], false),
            (setBelow + [0xc3, 0x90, 0x90], false),
            (loadGuard + setBelow, false),
            (load + [0xc6, 0x80, 0x5c, 0, 0, 0, 1], false),
            ([0x64, 0xc6, 0x04, 0x25, 0x5c, 0xff], false),
            ([], false),
        ] as [([UInt8], Bool)]
    )
    func `It is told by its instructions`(code: [UInt8], expected: Bool) {
        let guards = ThreadLocalGuards(offsets: [-164, -4])
        #expect(code.withUnsafeBytes { ThreadPointerFlow.setsGuard(in: $0, guards) } == expected)
        let unknown = ThreadLocalGuards(offsets: nil)
        #expect(code.withUnsafeBytes { ThreadPointerFlow.setsGuard(in: $0, unknown) } == expected)
    }

    @Test(
        arguments: [
            // Kept on the stack, and an object taken from there: its flag at 0x358 is set. As optimised code of the host's did.
            load + [0x48, 0x8d, 0x40, 0xc0, 0x48, 0x89, 0x45, 0xf0] + [0x4c, 0x8b, 0x75, 0xe8]
                + [0x41, 0xc6, 0x86, 0x58, 0x03, 0, 0, 1],
            // Another variable of the thread's.
            load + [0xc6, 0x80, 0xc0, 0xff, 0xff, 0xff, 1],
            [0x64, 0xc6, 0x04, 0x25, 0xc0, 0xff, 0xff, 0xff, 1],
        ] as [[UInt8]]
    )
    func `Where the guards are known, another flag is none`(code: [UInt8]) {
        let guards = ThreadLocalGuards(offsets: [-164, -4])
        #expect(!code.withUnsafeBytes { ThreadPointerFlow.setsGuard(in: $0, guards) })
        let unknown = ThreadLocalGuards(offsets: nil)
        #expect(code.withUnsafeBytes { ThreadPointerFlow.setsGuard(in: $0, unknown) })
    }
}
