import Foundation
import Glibc
import Symbolication
import TestSupport
import Testing

/// Changes one byte of a build id in a file, wherever that stands: the note and nothing else has these bytes.
private func changeBuildID(_ buildID: String, in path: String) throws {
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let digits = Array(buildID)
    let identifier = Data(
        stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    )
    let range = try #require(bytes.range(of: identifier))
    bytes[range.lowerBound] ^= 1
    try bytes.write(to: URL(fileURLWithPath: path))
}

@Suite(.timeLimit(.minutes(10))) struct DebugFileTests {
    private let program: StrippedProgram

    init() throws {
        program = try StrippedProgram()
    }

    @Test func `A stripped program alone tells no lines and makes up no names`() throws {
        try FileManager.default.removeItem(atPath: program.debugFile)
        for (bare, whole) in zip(program.frames(), program.frames) {
            #expect(bare.allSatisfy { $0.line == nil && !$0.inlined })
            #expect(bare.last == nil || bare.last?.rawName == whole.last?.rawName)
        }
    }

    @Test func `A debug file is found by its build id, in any folder that is searched`() throws {
        let root = program.folder.path + "/symbols"
        try program.moveDebugFile(to: root)
        #expect(program.frames() != program.frames)
        #expect(program.frames(search: DebugFileSearch(directories: ["/nonexistent", root])) == program.frames)
    }

    @Test func `A debug file is found by its build id when the program is gone`() throws {
        let root = program.folder.path + "/symbols"
        try program.moveDebugFile(to: root)
        #expect(program.frames(at: "/gone/program", search: DebugFileSearch(directories: [root])) == program.frames)
    }

    @Test(arguments: ["/program.debug", "/.debug/program.debug"])
    func `A debug file is found by the link in the program, beside it`(place: String) throws {
        try program.link(to: program.debugFile)
        let target = program.folder.path + place
        if target != program.debugFile { try StrippedProgram.move(program.debugFile, to: target) }
        #expect(program.frames() == program.frames)
    }

    @Test func `A debug file is found by the link, in the program's folder below one that is searched`() throws {
        let root = program.folder.path + "/symbols"
        try program.link(to: program.debugFile)
        try StrippedProgram.move(program.debugFile, to: root + program.folder.path + "/program.debug")
        #expect(program.frames(search: DebugFileSearch(directories: [root])) == program.frames)
    }

    @Test func `A link is followed for want of a build id when the checksum is right, and only then`() throws {
        try StrippedProgram.run("objcopy", ["--remove-section=.note.gnu.build-id", program.debugFile])
        try StrippedProgram.run("objcopy", ["--remove-section=.note.gnu.build-id", program.path])
        try program.link(to: program.debugFile)
        #expect(program.frames(buildID: .some(nil)) == program.frames)
        // Behind the last section: the file is as good as before, but not the same.
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: program.debugFile))
        try file.seekToEnd()
        try file.write(contentsOf: Data([0]))
        try file.close()
        #expect(program.frames(buildID: .some(nil)) != program.frames)
    }

    @Test func `A debug file of another build is never used, whatever leads to it`() throws {
        let root = program.folder.path + "/symbols"
        try program.link(to: program.debugFile)
        try changeBuildID(program.buildID, in: program.debugFile)
        let search = DebugFileSearch(directories: [root, program.folder.path], files: [program.debugFile])
        #expect(program.frames(search: search).allSatisfy { $0.allSatisfy { $0.line == nil } })
        try program.moveDebugFile(to: root)
        #expect(program.frames(search: search).allSatisfy { $0.allSatisfy { $0.line == nil } })
    }

    @Test func `A file that was replaced since is not used, but one with the build id elsewhere is`() throws {
        try changeBuildID(program.buildID, in: program.path)
        try FileManager.default.removeItem(atPath: program.debugFile)
        #expect(program.frames().allSatisfy { $0.isEmpty })
        #expect(program.frames(search: DebugFileSearch(files: ["/nonexistent", program.built])) == program.frames)
        let folder = URL(fileURLWithPath: program.built).deletingLastPathComponent().path
        let byName = DebugFileSearch(directories: [folder])
        #expect(program.frames(at: "/old/place/lock-frames-probe", search: byName) == program.frames)
    }

    @Test(arguments: ["../../../etc", "ab/../../..", "", "a", "zz00", "ab\0cd"])
    func `A build id that is none leads nowhere`(buildID: String) {
        let frames = program.frames(at: "/gone", buildID: buildID, search: DebugFileSearch(directories: ["/"]))
        #expect(frames.allSatisfy { $0.isEmpty })
    }

}

/// Two programs with debug information in common, which dwz takes out.
///
/// It does not know what the Swift compiler writes.
@Suite(
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/dwz"), "needs dwz"),
    .timeLimit(.minutes(10))
)
struct AlternateDebugFileTests {
    private static let source = """
        #include <pthread.h>
        #include <signal.h>
        #include <stdio.h>
        #include <sys/stat.h>
        struct stat status; pthread_mutex_t mutex; siginfo_t info; FILE *file;
        static inline __attribute__((always_inline)) int inlined(int value) { volatile int copy = value; return copy * 3; }
        int named(int value) { volatile int copy = inlined(value) + status.st_uid + info.si_pid; return copy + 1; }
        int main(int count, char **arguments) { return named(count); }
        """

    private let folder: TemporaryFolder
    private let frames: (DebugFileSearch) -> [SymbolicatedFrame]

    init() throws {
        let folder = try TemporaryFolder()
        self.folder = folder
        for name in ["first", "second"] {
            let source = try folder.write(Self.source, to: name + ".c")
            try StrippedProgram.run(
                "clang",
                ["-g", "-gdwarf-4", "-O1", "-Wl,--build-id", source, "-o", "\(folder.path)/\(name)"]
            )
        }
        let program = folder.path + "/first"
        let buildID = try StrippedProgram.buildID(of: program)
        let symbols = try ProgramRun.run("/usr/bin/env", ["nm", program]).output.split(separator: "\n")
        let symbol = try #require(symbols.first { $0.hasSuffix(" T named") })
        let start = try #require(UInt64(symbol.prefix { $0 != " " }, radix: 16))
        try StrippedProgram.run("dwz", ["-m", "\(folder.path)/shared", program, "\(folder.path)/second"])
        frames = { search in
            let symbolicator = Symbolicator(images: [StrippedProgram.image(program, buildID)], search: search)
            return symbolicator.symbolicate(address: StrippedProgram.base + start, isReturnAddress: false)
        }
    }

    @Test func `What dwz took out is found beside the file that needs it`() throws {
        let frame = try #require(frames(DebugFileSearch()).last)
        #expect(frame.rawName == "named")
        #expect(frame.file?.hasSuffix("/first.c") == true)
        #expect(frame.line == 7)
    }

    @Test func `What dwz took out is found by its build id`() throws {
        let shared = folder.path + "/shared"
        let buildID = try StrippedProgram.buildID(of: shared)
        let root = folder.path + "/symbols"
        try StrippedProgram.move(shared, to: "\(root)/.build-id/\(buildID.prefix(2))/\(buildID.dropFirst(2)).debug")
        #expect(frames(DebugFileSearch()).allSatisfy { $0.line == nil })
        #expect(frames(DebugFileSearch(directories: [root])).last?.line == 7)
    }

    @Test func `Without what dwz took out there is the symbol, and nothing is opened in its place`() throws {
        let shared = folder.path + "/shared"
        try FileManager.default.removeItem(atPath: shared)
        // To open it would wait for ever.
        #expect(mkfifo(shared, 0o600) == 0)
        #expect(frames(DebugFileSearch()).map(\.rawName) == ["named"])
        #expect(frames(DebugFileSearch()).map(\.line) == [nil])
    }
}
