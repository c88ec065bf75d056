import Foundation
import Symbolication
import TestSupport
import Testing

/// A program of the tests, with its symbols in a file of their own.
final class StrippedProgram {
    let folder: TemporaryFolder
    /// The program as it was built.
    let built: String
    /// Without symbols.
    let path: String
    /// The symbols alone.
    let debugFile: String
    let buildID: String
    /// Addresses in functions that have lines.
    var addresses: [UInt64] { Self.sample.map(\.address) }
    /// What the built program says of these.
    var frames: [[SymbolicatedFrame]] { Self.sample.map(\.frames) }

    static let base: UInt64 = 0x5555_0000_0000

    init() throws {
        folder = try TemporaryFolder()
        built = try BuiltProduct.path(of: "lock-frames-probe")
        path = folder.path + "/program"
        debugFile = folder.path + "/program.debug"
        buildID = try Self.buildID(of: built)
        try Self.run("objcopy", ["--only-keep-debug", built, debugFile])
        try Self.run("objcopy", ["--strip-all", built, path])
        try #require(frames.count > 50, "the tests would be vacuous")
    }

    private static let sample: [(address: UInt64, frames: [SymbolicatedFrame])] = {
        guard let built = try? BuiltProduct.path(of: "lock-frames-probe"), let buildID = try? buildID(of: built) else {
            return []
        }
        let symbolicator = Symbolicator(images: [image(built, buildID)])
        let named = stride(from: base, to: base + 1 << 20, by: 397)
            .map { ($0, symbolicator.symbolicate(address: $0, isReturnAddress: false)) }
            .filter { address, frames in
                // The first address of a function is no return address in it.
                let called = symbolicator.symbolicate(address: address, isReturnAddress: true)
                return frames.contains { $0.line != nil } && called.map(\.rawName) == frames.map(\.rawName)
            }
        return named.prefix(500).map { (address: $0.0, frames: $0.1) }
    }()

    /// The image of a file that was mapped at the base.
    static func image(_ path: String, _ buildID: String?) -> SymbolImage {
        SymbolImage(path: path, base: base, end: base + 64 << 20, buildID: buildID)
    }

    /// What is said of the addresses in an image of some path.
    func frames(
        at path: String? = nil,
        buildID: String?? = .none,
        search: DebugFileSearch = .standard
    ) -> [[SymbolicatedFrame]] {
        let image = Self.image(path ?? self.path, buildID ?? self.buildID)
        let symbolicator = Symbolicator(images: [image], search: search)
        return addresses.map { symbolicator.symbolicate(address: $0, isReturnAddress: false) }
    }

    /// An address at which a check of the compiler has failed.
    var failedCheck: UInt64? {
        let symbolicator = Symbolicator(images: [Self.image(built, buildID)])
        return traps.first {
            symbolicator.symbolicate(address: $0, isReturnAddress: false).first?.isRuntimeFailure == true
        }
    }

    /// Where the code may have a ud2, with which a check fails: there are too many other addresses to ask of each.
    private var traps: [UInt64] {
        guard let sections = try? ProgramRun.run("/usr/bin/env", ["readelf", "-SW", built]).output,
            let file = FileManager.default.contents(atPath: built),
            let line = sections.split(separator: "\n").first(where: { $0.contains(" .text ") }),
            case let numbers = line.split(separator: " ").drop(while: { $0 != "PROGBITS" }).dropFirst().prefix(3)
                .compactMap({ Int($0, radix: 16) }),
            numbers.count == 3
        else { return [] }
        let code = file.dropFirst(numbers[1]).prefix(numbers[2])
        return zip(code.indices, zip(code, code.dropFirst())).filter { $0.1 == (0x0f, 0x0b) }
            .map { Self.base + UInt64($0.0 - numbers[1] + numbers[0]) }
    }

    /// Puts a link to a debug file into the stripped program.
    func link(to debugFile: String) throws {
        try Self.run("objcopy", ["--add-gnu-debuglink=\(debugFile)", path])
    }

    /// Moves the debug file into a folder, by its build id.
    func moveDebugFile(to root: String) throws {
        try Self.move(debugFile, to: "\(root)/.build-id/\(buildID.prefix(2))/\(buildID.dropFirst(2)).debug")
    }

    static func move(_ path: String, to target: String) throws {
        let folder = URL(fileURLWithPath: target).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try FileManager.default.moveItem(atPath: path, toPath: target)
    }

    static func run(_ program: String, _ arguments: [String]) throws {
        let run = try ProgramRun.run("/usr/bin/env", [program] + arguments, within: .seconds(60))
        guard run.end == .exited(0) else { throw HarnessError("\(program): \(run.end) \(run.errors)") }
    }

    static func buildID(of path: String) throws -> String {
        let run = try ProgramRun.run("/usr/bin/env", ["readelf", "-n", path])
        let line = run.output.split(separator: "\n").first { $0.contains("Build ID: ") }
        guard let identifier = line?.split(separator: " ").last else { throw HarnessError("\(path) has no build id") }
        return String(identifier)
    }
}
