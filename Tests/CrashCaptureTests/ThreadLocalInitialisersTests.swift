import Testing

@testable import CrashCapture

/// Which machine code sets a byte of the thread's storage, as clang and the linker write it.
struct ThreadLocalInitialisersTests {
    private static let load: [UInt8] = [0x66, 0x66, 0x66, 0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0]
    private static let loadOther: [UInt8] = [0x64, 0x4c, 0x8b, 0x34, 0x25, 0, 0, 0, 0]
    private static let loadGuard: [UInt8] = [0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0]
    private static let setBelow: [UInt8] = [0xc6, 0x80, 0x5c, 0xff, 0xff, 0xff, 1]
    private static let setBelowOther: [UInt8] = [0x41, 0xc6, 0x86, 0x5c, 0xff, 0xff, 0xff, 1]

    @Test(
        arguments: [
            ([0x64, 0xc6, 0x04, 0x25, 0x5c, 0xff, 0xff, 0xff, 1], true),
            (load + setBelow, true),
            (loadOther + setBelowOther, true),
            ([0x90] + load + [0x90, 0x90] + setBelow + [0xc3], true),
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
        #expect(code.withUnsafeBytes { ThreadLocalInitialisers.setsThreadLocalByte($0) } == expected)
    }
}
