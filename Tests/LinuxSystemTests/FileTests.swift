import Glibc
import LinuxSystem
import SystemPackage
import TestSupport
import Testing

/// Directories that are read and written by their descriptor, and memory that nobody changes any more.
@Suite(.timeLimit(.minutes(10)))
struct FileTests {
    private let folder: TemporaryFolder
    private var path: FilePath { FilePath(folder.path) }

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("What is written into a directory has a name when it is renamed, and is gone when it is removed")
    func writeRenameRemove() throws {
        let directory = try FileDirectory(at: path)
        do {
            let file = try directory.create("new")
            try file.writeAll(Array("text".utf8))
            try file.synchronize()
        }
        try directory.rename("new", to: "old")
        #expect(try directory.names().filter { !$0.hasPrefix(".") } == ["old"])
        #expect(try directory.open("old").readAll(limit: 100) == Array("text".utf8))
        try directory.remove("old")
        #expect(throws: Errno.noSuchFileOrDirectory) { _ = try directory.open("old").rawValue }
    }

    @Test("A file that is there is not created again, and a link is not followed")
    func refusals() throws {
        let directory = try FileDirectory(at: path)
        _ = try directory.create("file").rawValue
        #expect(throws: Errno.fileExists) { _ = try directory.create("file").rawValue }
        try #require(symlink("file", folder.path + "/link") == 0)
        #expect(throws: Errno.tooManySymbolicLinkLevels) { _ = try directory.open("link").rawValue }
        #expect(try FileStatus(of: path.appending("link")).kind == .symbolicLink)
    }

    @Test("Of a file that is longer than the limit, one byte more is read, which tells so")
    func limit() throws {
        let directory = try FileDirectory(at: path)
        try directory.create("file").writeAll([UInt8](repeating: 7, count: 100_000))
        #expect(try directory.open("file").readAll(limit: 99_999).count == 100_000)
        #expect(try directory.open("file").readAll(limit: 10).count == 11)
        #expect(try directory.open("file").readAll(limit: 100_000).count == 100_000)
    }

    @Test("Directories are made with those above them, for the user alone")
    func create() throws {
        let deep = path.appending("a").appending("b").appending("c")
        try FileDirectory.create(at: deep)
        try FileDirectory.create(at: deep)
        let status = try FileStatus(of: deep)
        #expect(status.kind == .directory)
        #expect(status.permissions == 0o700)
        #expect(throws: Errno.notDirectory) {
            try FileDirectory(at: path).create("file").writeAll([])
            try FileDirectory.create(at: path.appending("file").appending("below"))
        }
    }

    @Test("Permissions are taken away, none are given")
    func permissions() throws {
        try #require(chmod(folder.path, 0o750) == 0)
        try FileDirectory(at: path).restrictPermissions(to: 0o705)
        #expect(try FileStatus(of: path).permissions == 0o700)
    }

    @Test("Sealed memory is read whole, and what is not sealed, or has another size, is refused")
    func sealedMemory() throws {
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
        let memory = try SealedMemory.make(bytes)
        #expect(try SealedMemory.read(memory.rawValue, size: bytes.count) == bytes)
        #expect(throws: SealedMemory.Refusal.wrongSize) { try SealedMemory.read(memory.rawValue, size: 1) }
        #expect(throws: Errno.notPermitted) { try memory.writeAll([1]) }
        let file = try FileDirectory(at: path).create("file")
        #expect(throws: SealedMemory.Refusal.notSealed) { try SealedMemory.read(file.rawValue, size: 0) }
    }

    @Test("A path without a root is one from the working directory")
    func fromRoot() throws {
        #expect(FilePath("/a/b").fromRoot == "/a/b")
        #expect(FilePath("a").fromRoot.isAbsolute)
        #expect(FilePath("a").fromRoot.lastComponent == "a")
    }
}
