import FaultInjection
import Foundation
import TestSupport
import Testing

@testable import Symbolication

/// Swift or not is told by the debug information, else by names, else not at all.
@Suite(.timeLimit(.minutes(10))) struct FunctionOriginsTests {
    private static let base: UInt64 = 0x5555_0000_0000

    /// A copy of a program with functions in Swift and in C.
    private final class Program {
        let folder: TemporaryFolder
        let path: String

        init(_ options: [String]) throws {
            folder = try TemporaryFolder()
            path = folder.path + "/program"
            try copyProbe(options, to: path)
        }

        func origins(_ trusted: TrustedCode = TrustedCode()) -> FunctionOrigins {
            let image = SymbolImage(path: path, base: base, end: base + 64 << 20, buildID: nil)
            return FunctionOrigins(of: image, trusting: trusted, search: DebugFileSearch())
        }
    }

    /// The program's functions by name, as it was built.
    private static let functions: [(name: String, start: UInt64, end: UInt64)] = {
        guard let path = try? BuiltProduct.path(of: "recovery-probe"), let file = ELFFile(path: path) else { return [] }
        let list = SymbolTable(of: file)
        return list.functions.map { (list.name(of: $0), $0.start - file.linkedBase + base, $0.end - $0.start) }
    }()

    private func count(
        of wanted: FunctionOrigin...,
        in origins: FunctionOrigins,
        where isMeant: (String) -> Bool
    ) -> (those: Int, all: Int) {
        let meant = Self.functions.filter { isMeant($0.name) }
        let those = meant.filter { function in
            [0, function.end / 2, function.end - 1].allSatisfy {
                wanted.contains(origins.origin(at: function.start + $0))
            }
        }
        return (those.count, meant.count)
    }

    private static func isC(_ name: String) -> Bool { name.hasPrefix("hf_") || name.hasPrefix("fault") }
    private static func isSwift(_ name: String) -> Bool {
        // Two are assembly under the names of the runtime's, which they stand before (task_switch.S).
        name.hasPrefix("$s") && !name.hasPrefix("$ss26withTaskExecutorPreference_")
    }

    /// Where the symbol table has the guard, counted from the end of the storage.
    private static func guardOffset(in path: String) throws -> Int32 {
        let table = try ProgramRun.run("/usr/bin/env", ["readelf", "-sW", path], within: .seconds(60)).output
        let headers = try ProgramRun.run("/usr/bin/env", ["readelf", "-lW", path], within: .seconds(60)).output
        func columns(_ text: String, where isMeant: ([Substring]) -> Bool) throws -> [Substring] {
            let line = text.split(separator: "\n").map { $0.split(separator: " ") }.first(where: isMeant)
            return try #require(line)
        }
        let symbol = try columns(table) { $0.last == "__tls_guard" }
        let segment = try columns(headers) { $0.first == "TLS" }
        let value = try #require(Int32(symbol[1], radix: 16))
        let size = try #require(Int32(segment[5].dropFirst(2), radix: 16))
        let alignment = try #require(Int32(segment[7].dropFirst(2), radix: 16))
        return value - (size + alignment - 1) / alignment * alignment
    }

    @Test(arguments: [[], ["--strip-debug"]])
    func `Guards of thread-local variables are where the symbols say`(options: [String]) throws {
        let program = try Program(options)
        let guards = program.origins().threadLocalGuards
        let offset = try Self.guardOffset(in: program.path)
        #expect(guards.isKnown && !guards.isEmpty)
        #expect(guards.mayContain(offset) && !guards.mayContain(offset - 1) && !guards.mayContain(offset + 1))
    }

    @Test
    func `Without the names of what is local, any place below the thread pointer may be a guard`() throws {
        let guards = try Program(["--discard-all", "--strip-debug"]).origins().threadLocalGuards
        #expect(!guards.isKnown && !guards.isEmpty)
        #expect(guards.mayContain(-1) && !guards.mayContain(0))
    }

    @Test
    func `A program without such variables has no guards`() throws {
        let path = try BuiltProduct.path(of: "crashreport")
        let image = SymbolImage(path: path, base: Self.base, end: Self.base + 64 << 20, buildID: nil)
        let guards = FunctionOrigins(of: image, trusting: TrustedCode(), search: DebugFileSearch()).threadLocalGuards
        #expect(guards.isKnown && guards.isEmpty)
    }

    @Test(arguments: [[], ["--strip-debug"]])
    func `Functions of Swift are told from those of C`(options: [String]) throws {
        let origins = try Program(options).origins()
        #expect(!origins.isStripped)
        let native = count(of: .native, in: origins, where: Self.isC)
        #expect(native.all > 100)
        #expect(native.those == native.all)
        // An optimiser makes functions of C headers a part of some.
        let swift = count(of: .swift, .inlinedNative, .withinNative, in: origins, where: Self.isSwift)
        #expect(swift.all > 1000)
        #expect(swift.those == swift.all)
        let whole = count(of: .swift, in: origins, where: Self.isSwift)
        #expect(whole.those * 50 > whole.all * 49)
        #expect(options.isEmpty || whole.those == whole.all)
        #expect(origins.origin(at: 0) == .unknown)
        #expect(origins.origin(at: .max) == .unknown)
    }

    /// Only the debug information tells that a function with a name of C is Swift's.
    @Test func `A Swift function with a C name is Swift's where there is debug information`() throws {
        let isMain = { (name: String) in name == "recovery_probe_main" }
        let told = try count(of: .swift, in: Program([]).origins(), where: isMain)
        #expect(told.those == 1)
        let untold = try count(of: .native, in: Program(["--strip-debug"]).origins(), where: isMain)
        #expect(untold.those == 1)
    }

    @Test func `Somebody may vouch for a module, or for functions`() throws {
        let module = try Program([]).origins(TrustedCode(modules: ["CFaultInjection"]))
        #expect(count(of: .trusted, in: module) { $0 == "hf_call_back" }.those == 1)
        #expect(count(of: .native, in: module) { $0 == "hf_capture_install" }.those == 1)
        let name = try Program(["--strip-debug"]).origins(TrustedCode(functions: ["hf_call_*", "faultUd2"]))
        #expect(
            count(of: .trusted, in: name) { ["hf_call_back", "hf_call_protected", "faultUd2"].contains($0) }.those == 3
        )
        #expect(count(of: .native, in: name) { $0 == "faultInt3" || $0 == "hf_capture_install" }.those == 2)
    }

    @Test func `Folders of source files count from where they were compiled, and file names do not`() {
        let code = TrustedCode(modules: ["lua"])
        #expect(code.hasModule(ofFile: "/build/Sources/lua/lapi.c", compiledIn: "/build"))
        #expect(code.hasModule(ofFile: "Sources/lua/src/lapi.c", compiledIn: "/build"))
        #expect(!code.hasModule(ofFile: "/build/lua/Sources/other/lua", compiledIn: "/build/lua"))
        #expect(!code.hasModule(ofFile: "/build/lua/Sources/other/x.c", compiledIn: "/build/lua"))
        #expect(!code.hasModule(ofFile: "/build/Sources/lua2/x.c", compiledIn: nil))
    }

    @Test func `Of a program without symbols only exports are known`() throws {
        let origins = try Program(["--strip-all"]).origins()
        #expect(origins.isStripped)
        #expect(count(of: .swift, in: origins, where: Self.isC).those == 0)
        let isOwn = { (name: String) in name.contains("14recovery_probe") }
        #expect(count(of: .unknown, in: origins, where: isOwn).those > 100)
    }

    @Test func `A file that cannot be read tells nothing`() {
        let image = SymbolImage(path: "/does/not/exist", base: Self.base, end: Self.base + 4096, buildID: nil)
        let origins = FunctionOrigins(of: image, trusting: TrustedCode())
        #expect(origins.isStripped)
        #expect(origins.isUnread)
        #expect(origins.origin(at: Self.base) == .unknown)
    }

    @Test func `What has no symbols was read all the same`() throws {
        #expect(try !Program(["--strip-all"]).origins().isUnread)
        #expect(try !Program(["--strip-debug"]).origins().isUnread)
        #expect(try !Program([]).origins().isUnread)
    }

    /// As when the root folder was changed meanwhile, or no descriptor is left.
    @Test func `A file that was opened is read when there is no way to it any more`() throws {
        let program = try Program([])
        let image = SymbolImage(path: program.path, base: Self.base, end: Self.base + 64 << 20, buildID: nil)
        let opened = ProgramFile(path: program.path)
        try FileManager.default.removeItem(atPath: program.path)
        let origins = FunctionOrigins(
            of: image,
            in: CodeFiles(of: image, from: opened, search: DebugFileSearch()),
            trusting: TrustedCode()
        )
        #expect(!origins.isUnread)
        #expect(count(of: .native, in: origins, where: Self.isC).those > 100)
    }

    private typealias Piece = FunctionOrigins.Piece

    private func pieces(_ bounds: [(UInt64, UInt64, FunctionOrigin)]) -> [Piece] {
        bounds.map { Piece(start: $0.0, end: $0.1, origin: $0.2) }
    }

    @Test func `What was inlined lies over what it was inlined into, unless that allows less`() {
        let lower = pieces([(10, 20, .swift), (20, 30, .native), (40, 60, .swift), (60, 70, .unknown)])
        let upper = pieces([
            (0, 12, .inlinedNative), (15, 25, .inlinedNative), (28, 42, .withinNative), (50, 55, .withinNative),
        ])
        let laid = FunctionOrigins.overlay(lower, with: upper)
        let expected = pieces([
            (10, 12, .inlinedNative), (12, 15, .swift), (15, 20, .inlinedNative), (20, 28, .native),
            (28, 30, .withinNative),
            (40, 42, .withinNative), (42, 50, .swift), (50, 55, .withinNative), (55, 60, .swift), (60, 70, .unknown),
        ])
        #expect(laid.map(\.start) == expected.map(\.start))
        #expect(laid.map(\.end) == expected.map(\.end))
        #expect(laid.map(\.origin) == expected.map(\.origin))
    }
}
