import Foundation
import TestSupport
import Testing

@testable import Symbolication

/// What a process has read of its program, for the next one.
@Suite(.timeLimit(.minutes(10))) struct KeptCodeTests {
    private static let base: UInt64 = 0x5555_0000_0000

    /// A copy of a program of which what was read is kept.
    private final class Program {
        let folder: TemporaryFolder
        let path: String
        let buildID: String

        let search: DebugFileSearch

        init(_ options: [String] = []) throws {
            folder = try TemporaryFolder()
            path = folder.path + "/program"
            search = DebugFileSearch(directories: [folder.path])
            try copyProbe(options, to: path)
            buildID = try #require(ELFFile(path: path)?.buildID)
        }

        var debugPath: String { folder.path + "/.build-id/\(buildID.prefix(2))/\(buildID.dropFirst(2)).debug" }

        func addDebugFile() throws {
            let folder = (debugPath as NSString).deletingLastPathComponent
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try copyProbe(["--only-keep-debug"], to: debugPath)
        }

        var image: SymbolImage {
            SymbolImage(
                path: path,
                base: KeptCodeTests.base,
                end: KeptCodeTests.base + 64 << 20,
                buildID: buildID
            )
        }

        var files: CodeFiles { CodeFiles(of: image, from: ProgramFile(path: path), search: search) }

        func kept(_ trusted: TrustedCode = TrustedCode(), isStatic: Bool = false) -> KeptCode? {
            KeptCode(of: image, in: files, trusting: trusted, isStatic: isStatic)
        }

        func origins() -> FunctionOrigins { FunctionOrigins(of: image, in: files, trusting: TrustedCode()) }
    }

    private static func addresses(_ path: String) throws -> [UInt64] {
        let file = try #require(ELFFile(path: path))
        return SymbolTable(of: file).functions.flatMap { [$0.start, $0.end - 1, $0.end] }.map {
            $0 - file.linkedBase + base
        }
    }

    @Test func `What is taken over says the same of all functions`() throws {
        let program = try Program()
        let read = program.origins()
        let kept = try #require(program.kept())
        let file = try #require(kept.file(of: read, locks: []))
        #expect(kept.name == program.buildID + ".code")
        let taken = try #require(program.kept()?.contents(of: file)).origins
        let addresses = try Self.addresses(program.path)
        #expect(addresses.count > 10_000)
        #expect(addresses.allSatisfy { taken.origin(at: $0) == read.origin(at: $0) })
        #expect(Set(addresses.map(read.origin(at:))).count > 1)
        #expect(taken.threadLocalGuards.list == read.threadLocalGuards.list)
        #expect(taken.isStripped == read.isStripped)
        #expect(taken.isMixed == read.isMixed)
        #expect(!taken.isUnread)
        #expect(taken.encoded() == read.encoded())
    }

    @Test func `A file that is damaged or cut anywhere is none`() throws {
        let program = try Program()
        let kept = try #require(program.kept())
        let file = try #require(kept.file(of: program.origins(), locks: []))
        for index in Array(0..<256) + Array(stride(from: 256, to: file.count, by: 4099)) {
            var damaged = file
            damaged[index] ^= 1 << UInt8(index % 8)
            #expect(kept.contents(of: damaged) == nil, "byte \(index)")
        }
        for size in Array(0..<256) + [file.count - 1, file.count / 2] {
            #expect(kept.contents(of: Array(file.prefix(size))) == nil, "\(size) bytes")
        }
        #expect(kept.contents(of: file + [0]) == nil)
    }

    /// As somebody would write it who knows the sum.
    @Test(arguments: ["count", "guards", "order", "empty", "origin", "flags", "short"])
    func `A file with the right sum and the wrong contents is none`(what: String) throws {
        let program = try Program()
        let kept = try #require(program.kept())
        let file = try #require(kept.file(of: program.origins(), locks: []))
        var read = try #require(program.origins().encoded())
        let key = try Array(#require(KeptCode.parts(of: file)).key)
        #expect(KeptCode.file(key: key, read: read, locks: []) == file)
        let guards = Int(read[32])
        func set(_ word: Int, to value: UInt64) {
            read.replaceSubrange((8 * word)..<(8 * word + 8), with: withUnsafeBytes(of: value) { Array($0) })
        }
        switch what {
        case "count": set(5, to: .max)
        case "guards": set(4, to: 1 << 62)
        case "order": set(6 + guards + 2, to: 0)
        case "empty": set(6 + guards + 1, to: 0)
        case "origin": read[read.count - 1] = 200
        case "flags": set(1, to: 1 << 20)
        default: read.removeLast()
        }
        #expect(kept.contents(of: KeptCode.file(key: key, read: read, locks: [])) == nil)
    }

    @Test func `What was read with other settings, or of another file, is none`() throws {
        let program = try Program()
        let file = try #require(program.kept()?.file(of: program.origins(), locks: []))
        #expect(program.kept()?.contents(of: file) != nil)
        #expect(program.kept(TrustedCode(modules: ["lua"]))?.contents(of: file) == nil)
        #expect(program.kept(TrustedCode(functions: ["lua_*"]))?.contents(of: file) == nil)
        #expect(program.kept(isStatic: true)?.contents(of: file) == nil)
        // The same bytes, written anew; UTIME_OMIT for the time of reading.
        var times = [timespec(tv_sec: 0, tv_nsec: 0x3fff_fffe), timespec(tv_sec: 1, tv_nsec: 0)]
        #expect(utimensat(AT_FDCWD, program.path, &times, 0) == 0)
        #expect(try #require(program.kept()).contents(of: file) == nil)
    }

    @Test func `Settings that read alike are not the same`() throws {
        let program = try Program()
        let kept = try #require(program.kept(TrustedCode(modules: ["a", "functions"])))
        let file = try #require(kept.file(of: program.origins(), locks: []))
        #expect(program.kept(TrustedCode(modules: ["a"], functions: ["functions"]))?.contents(of: file) == nil)
        #expect(program.kept(TrustedCode(modules: ["a", "functions"]))?.contents(of: file) != nil)
    }

    /// What is inlined is known by the debug file alone.
    @Test func `A debug file that comes, changes or goes makes what was kept none`() throws {
        let program = try Program(["--strip-debug"])
        let without = try #require(program.kept()?.file(of: program.origins(), locks: []))
        #expect(program.kept()?.contents(of: without) != nil)
        try program.addDebugFile()
        #expect(try #require(program.kept()).contents(of: without) == nil)
        let with = try #require(program.kept()?.file(of: program.origins(), locks: []))
        #expect(program.kept()?.contents(of: with) != nil)
        try FileManager.default.removeItem(atPath: program.debugPath)
        #expect(try #require(program.kept()).contents(of: with) == nil)
        try program.addDebugFile()
        #expect(try #require(program.kept()).contents(of: with) == nil)
    }

    @Test func `What changes while it is read is not kept`() throws {
        let program = try Program()
        let kept = try #require(program.kept())
        let origins = program.origins()
        #expect(kept.file(of: origins, locks: []) != nil)
        #expect(chmod(program.path, 0o700) == 0)
        #expect(kept.file(of: origins, locks: []) == nil)
    }

    @Test func `A program of which dwz has moved a part away is read each time`() throws {
        let part = FileManager.default.temporaryDirectory.appending(path: "link-\(UUID())").path
        #expect(FileManager.default.createFile(atPath: part, contents: Data("elsewhere\0".utf8)))
        defer { try? FileManager.default.removeItem(atPath: part) }
        #expect(try Program(["--add-section", ".gnu_debugaltlink=\(part)"]).kept() == nil)
    }

    @Test func `A program without a build id, or that cannot be read, keeps nothing`() throws {
        let program = try Program()
        var image = program.image
        image.buildID = nil
        #expect(KeptCode(of: image, in: program.files, trusting: TrustedCode(), isStatic: false) == nil)
        image.buildID = "00"
        #expect(KeptCode(of: image, in: CodeFiles(of: image), trusting: TrustedCode(), isStatic: false) == nil)
        image = SymbolImage(path: "/does/not/exist", base: Self.base, end: Self.base + 4096, buildID: nil)
        #expect(FunctionOrigins(of: image, trusting: TrustedCode()).encoded() == nil)
    }
}
