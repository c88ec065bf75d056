import CCrashCapture
import CLibunwind
import Dispatch
import Foundation
import Glibc
import LinuxSystem
import Testing

@testable import CrashCapture

/// Rows of call frame tables against libunwind, on the tables of what is loaded here.
///
/// One at a time: libunwind's way to the walker is one for the process.
@Suite(.serialized, .timeLimit(.minutes(10))) struct CallFrameTests {
    private typealias Register = CallFrameRow.Register

    private let walker: StackWalker
    /// Memory that registers point into, every word of it different.
    private let memory = UnsafeMutablePointer<UInt64>.allocate(capacity: wordCount)
    private static let wordCount = 65536

    init() throws {
        walker = try #require(StackWalker.own())
        for index in 0..<Self.wordCount { memory[index] = 0x5555_0000_0000 + UInt64(index) * 16 }
    }

    /// Starts of some functions of the image that an address lies in.
    private func functions(around address: UInt64) throws -> [UInt64] {
        let table = try #require(walker.functions(for: address))
        return try stride(from: 0, to: table.count, by: max(1, Int(table.count / 150))).map { index in
            try #require(table.start(index, walker.load))
        }
    }

    /// Registers that point into the memory, with the program counter at an address.
    private func registers(at address: UInt64, using generator: inout some RandomNumberGenerator) -> [UInt64] {
        let base = UInt64(UInt(bitPattern: memory))
        let middle = UInt64(Self.wordCount) * 4
        var registers = (0..<16).map { _ in base + middle + UInt64.random(in: 0..<4096, using: &generator) * 8 }
        registers.append(address)
        return registers
    }

    /// What libunwind makes of them by one step; nil where it does not get on.
    private func step(_ registers: [UInt64]) -> [UInt64]? {
        var context = ucontext_t()
        hf_unwind_set_registers(&context, registers)
        return withUnsafeMutablePointer(to: &context) { context in
            var cursor = unw_cursor_t()
            guard hf_unwind_begin(&walker.library, &cursor, context, true) == 0,
                let step = walker.library.step, step(&cursor) > 0
            else { return nil }
            return (0..<17).map { number in
                var value: UInt64 = 0
                return walker.library.get_reg?(&cursor, CInt(number), &value) == 0 ? value : 0
            }
        }
    }

    private static func address(of symbol: String) -> UInt64 {
        UInt64(UInt(bitPattern: dlsym(nil, symbol)))
    }

    private static let images: [(name: String, address: UInt64)] = [
        ("the tests", hf_recovery_switch_start_address()), ("libc", address(of: "abort")),
        ("libswiftCore", address(of: "swift_retain")), ("libdispatch", address(of: "dispatch_async")),
        ("libFoundationEssentials", address(of: "$s20FoundationEssentials4DataVMa")),
    ]

    @Test(arguments: images) func `A row says of the caller what libunwind says`(name: String, image: UInt64) throws {
        // libunwind asks the walker whose walk was the last one.
        var here = ucontext_t()
        hf_unwind_capture(&here)
        _ = walker.walk(context: &here) { _ in }
        var generator = SystemRandomNumberGenerator()
        var compared = 0
        var left = 0
        let callerSaved = [Register.rbx, Register.rbp, 12, 13, 14, 15, Register.stackPointer, Register.returnAddress]
        for start in try functions(around: image) {
            for offset: UInt64 in [0, 1, 2, 4, 5, 8, 13, 21, 34, 55, 144, 377, 987] {
                let before = registers(at: start + offset, using: &generator)
                guard let row = walker.row(at: start + offset) else {
                    left += 1
                    continue
                }
                guard row.pointee.base != CallFrameRow.outermost else { continue }
                var after = before
                var window = MemoryWindow()
                let isApplied = after.withUnsafeMutableBufferPointer {
                    row.pointee.apply(to: $0.baseAddress!, reading: &window)
                }
                let expected = step(before)
                #expect(isApplied == (expected != nil), "\(name), \(String(start, radix: 16)) + \(offset)")
                guard isApplied, let expected else { continue }
                compared += 1
                let isSame = callerSaved.allSatisfy { after[$0] == expected[$0] }
                #expect(isSame, "\(name), \(String(start, radix: 16)) + \(offset): \(after) and \(expected)")
                if !isSame { return }
            }
        }
        #expect(compared > 250, "\(name): \(compared)")
        // Most of these are beyond the end of a function.
        #expect(left * 3 < compared * 2, "\(left) of \(left + compared) places were left to libunwind")
    }

    @Test func `A walk by rows and one by libunwind meet the same frames`() {
        func recurse(_ depth: Int, _ body: () -> Void) {
            if depth == 0 { body() } else { recurse(depth - 1, body) }
        }
        recurse(40) {
            var context = ucontext_t()
            hf_unwind_capture(&context)
            var rows: [UInt64] = []
            _ = walker.walk(context: &context) { rows.append($0) }
            var cursor = unw_cursor_t()
            var library: [UInt64] = []
            withUnsafeMutablePointer(to: &context) { context in
                guard hf_unwind_begin(&walker.library, &cursor, context, true) == 0 else { return }
                repeat {
                    var address: UInt64 = 0
                    guard walker.library.get_reg?(&cursor, CInt(HF_UNWIND_REGISTER_IP), &address) == 0 else { return }
                    library.append(address)
                } while (walker.library.step?(&cursor) ?? 0) > 0
            }
            #expect(rows.count > 40)
            #expect(rows == library)
        }
    }

    /// libswiftGlibc has no table for it.
    @Test func `A function without a table is told by its code`() throws {
        let start = Self.address(of: "$s5Glibc5errnos5Int32Vvg")
        try #require(start != 0)
        #expect(walker.row(at: start) == nil)
        let stack = UInt64(UInt(bitPattern: memory))
        for (place, callerAt, framePointerAt) in [(start, 0, nil), (start + 1, 1, 0)] as [(UInt64, Int, Int?)] {
            var registers = [UInt64](repeating: 7, count: 17)
            registers[Register.stackPointer] = stack
            let row = try #require(walker.rowByCode(at: place))
            var window = MemoryWindow()
            let isApplied = registers.withUnsafeMutableBufferPointer {
                row.apply(to: $0.baseAddress!, reading: &window)
            }
            #expect(isApplied)
            #expect(registers[Register.returnAddress] == memory[callerAt])
            #expect(registers[Register.stackPointer] == stack + UInt64(callerAt + 1) * 8)
            #expect(registers[Register.rbp] == framePointerAt.map { memory[$0] } ?? 7)
        }
        #expect(walker.rowByCode(at: start + 2) == nil)
    }

    @Test func `Damaged tables end in no row, and in no fault`() throws {
        var generator = SystemRandomNumberGenerator()
        let rules = CallFrameRules()
        for _ in 0..<20_000 {
            let count = Int.random(in: 0..<64, using: &generator)
            for index in 0..<8 { memory[index] = generator.next() }
            let start = UInt64(UInt(bitPattern: memory))
            var cursor = CallFrameCursor(in: walker, from: start, to: start + UInt64(count))
            var common = CallFrameProgram.Common()
            common.codeAlignment = generator.next()
            common.dataAlignment = Int64(bitPattern: generator.next())
            rules.reset()
            var program = CallFrameProgram(common, rules, from: generator.next(), to: generator.next())
            if program.run(&cursor) { _ = rules.row(at: 1) }
            #expect(cursor.address <= start + UInt64(count))
        }
    }
}
