import Glibc
import HoldfastIO
import Synchronization
import SystemPackage
import TestSupport
import Testing

/// A watcher on the loop of the test's thread, and what it has told.
private final class Watching {
    private final class Told: Sendable {
        let changes = Mutex<[FileWatcher.Change]>([])
    }

    let watcher: FileWatcher
    private let told = Told()

    init(_ path: String) throws {
        watcher = try FileWatcher(path, on: .current)
        watcher.onChange { [told] _, change in told.changes.withLock { $0.append(change) } }
    }

    deinit { watcher.close() }

    /// Runs the loop until it was told of a change like this, and returns all up to it.
    func changes(until kind: FileWatcher.Change.Kind, _ name: String? = nil) throws -> [String] {
        let last = { (change: FileWatcher.Change) in change.kind == kind && change.name?.string == name }
        let end = ContinuousClock.now.advanced(by: Deadline.patience)
        while !told.changes.withLock({ $0.contains(where: last) }) {
            guard ContinuousClock.now < end else { break }
            watcher.loop.run(in: .default, for: .seconds(1), returnAfterSourceHandled: true)
        }
        let all = told.changes.withLock { changes in
            defer { changes = [] }
            return changes
        }
        guard all.contains(where: last) else { throw HarnessError("not told of \(kind): \(all)") }
        return all.map { change in change.name.map { "\(change.kind) \($0)" } ?? "\(change.kind)" }
    }
}

/// What a watcher tells of files, directories and links.
@Suite(.timeLimit(.minutes(5))) struct FileWatcherTests {
    /// Makes the file where there is none, and adds to it.
    ///
    /// Without a descriptor: a child of another test would inherit it, and close it later.
    private func write(_ text: String, to path: String) {
        var status = stat()
        if stat(path, &status) != 0 {
            #expect(mknod(path, S_IFREG | 0o600, 0) == 0)
            status.st_size = 0
        }
        #expect(truncate(path, status.st_size + text.utf8.count) == 0)
    }

    @Test func `A file is written, removed and created`() throws {
        let folder = try TemporaryFolder()
        let file = folder.path + "/file"
        write("a", to: file)
        let watching = try Watching(file)
        write("b", to: file)
        write("another", to: folder.path + "/other")
        write("c", to: file)
        chmod(file, 0o640)
        #expect(try watching.changes(until: .attributes) == ["changed", "attributes"])
        unlink(file)
        #expect(try watching.changes(until: .removed) == ["removed"])
        write("d", to: file)
        chmod(file, 0o600)
        #expect(try watching.changes(until: .attributes) == ["created", "changed", "attributes"])
    }

    @Test func `A file that is replaced by renaming is watched further`() throws {
        let folder = try TemporaryFolder()
        let (file, other) = (folder.path + "/file", folder.path + "/other")
        write("a", to: file)
        let watching = try Watching(file)
        for _ in 0..<3 {
            write("b", to: other)
            rename(other, file)
            #expect(try watching.changes(until: .renamedTo) == ["renamedTo"])
            write("c", to: file)
            #expect(try watching.changes(until: .changed) == ["changed"])
        }
        rename(file, other)
        #expect(try watching.changes(until: .renamedFrom) == ["renamedFrom"])
    }

    @Test func `A link that is led elsewhere is followed, as that of a ConfigMap`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path
        for name in ["one", "two", "three"] {
            mkdir("\(path)/\(name)", 0o700)
            write(name, to: "\(path)/\(name)/file")
        }
        symlink("one", "\(path)/data")
        symlink("data/file", "\(path)/file")
        let watching = try Watching("\(path)/file")
        for (old, new) in [("one", "two"), ("two", "three")] {
            symlink(new, "\(path)/next")
            rename("\(path)/next", "\(path)/data")
            unlink("\(path)/\(old)/file")
            rmdir("\(path)/\(old)")
            #expect(try watching.changes(until: .changed) == ["changed"])
            write("more", to: "\(path)/\(new)/file")
            chmod("\(path)/\(new)/file", 0o640)
            #expect(try watching.changes(until: .attributes) == ["changed", "attributes"])
        }
        // The directory goes, and comes back.
        rename("\(path)/three", "\(path)/four")
        #expect(try watching.changes(until: .removed) == ["removed"])
        rename("\(path)/four", "\(path)/three")
        #expect(try watching.changes(until: .created) == ["created"])
    }

    @Test func `What does not exist is told of when it is created, and must have a directory`() throws {
        let folder = try TemporaryFolder()
        let watching = try Watching(folder.path + "/file")
        write("a", to: folder.path + "/file")
        #expect(try watching.changes(until: .changed) == ["created", "changed"])
        #expect(throws: IOError.self) { try Watching(folder.path + "/missing/file") }
    }

    @Test func `In a directory, entries are told of by name, however it is made`() throws {
        let folder = try TemporaryFolder()
        let watching = try Watching(folder.path)
        write("a", to: folder.path + "/new\nline")
        mkdir(folder.path + "/below", 0o700)
        write("b", to: folder.path + "/below/deep")
        let bytes: [CChar] = folder.path.utf8.map { CChar(bitPattern: $0) } + [47, -1, -2, 0]
        let hostile = FilePath(platformString: bytes)
        hostile.withPlatformString { path in
            #expect(mknod(path, S_IFREG | 0o600, 0) == 0)
            rename(path, folder.path + "/last")
        }
        let told = try watching.changes(until: .renamedTo, "last")
        let name = try #require(hostile.lastComponent)
        #expect(name.string == "\u{FFFD}\u{FFFD}")
        #expect(
            told == [
                "created new\nline", "changed new\nline", "created below", "created \(name)",
                "renamedFrom \(name)", "renamedTo last",
            ]
        )
        unlink(folder.path + "/last")
        #expect(try watching.changes(until: .removed, "last") == ["removed last"])
    }

    @Test func `Where the kernel has dropped changes, that is told, and it goes on`() throws {
        let folder = try TemporaryFolder()
        let watching = try Watching(folder.path)
        let limit = open("/proc/sys/fs/inotify/max_queued_events", O_RDONLY)
        defer { close(limit) }
        var text = [UInt8](repeating: 0, count: 32)
        let count = read(limit, &text, text.count)
        let queued = try #require(Int(String(decoding: text[..<max(0, count - 1)], as: UTF8.self)))
        // Two names in turn: equal events that follow each other are one to the kernel.
        let files = ["a", "b"].map { "\(folder.path)/\($0)" }
        for file in files { write("a", to: file) }
        for number in 0...queued { #expect(chmod(files[number % 2], mode_t(0o600 + number % 8)) == 0) }
        #expect(try watching.changes(until: .overflow).last == "overflow")
        write("c", to: folder.path + "/c")
        #expect(try watching.changes(until: .changed, "c") == ["created c", "changed c"])
    }
}
