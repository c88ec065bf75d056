import Glibc
import ReportTestSupport
import SystemPackage
import Testing

@testable import CrashReports

/// What processes of a program keep for the next ones, beside the reports.
@Suite struct KeptFilesTests {
    private let temporary: TemporaryStore
    private var store: ReportStore { temporary.store }

    init() throws {
        temporary = try TemporaryStore()
        try store.create()
    }

    @Test func `What was kept comes back, and the last of a name counts`() {
        #expect(store.kept("a.code", limit: 100) == nil)
        store.keep([1, 2, 3], as: "a.code")
        store.keep([4], as: "b.code")
        #expect(store.kept("a.code", limit: 3) == [1, 2, 3])
        store.keep([5, 6], as: "a.code")
        #expect(store.kept("a.code", limit: 3) == [5, 6])
        #expect(store.kept("b.code", limit: 3) == [4])
        #expect(store.kept("a.code", limit: 1) == nil)
    }

    @Test func `The newest four are kept`() throws {
        for number in 0..<7 {
            store.keep([UInt8(number)], as: "\(number).code")
            // UTIME_OMIT for the first. Two may be written within one tick of the file system's clock.
            var times = [timespec(tv_sec: 0, tv_nsec: 0x3fff_fffe), timespec(tv_sec: 1000 + number, tv_nsec: 0)]
            #expect(utimensat(AT_FDCWD, store.keptPath.appending("\(number).code").string, &times, 0) == 0)
        }
        store.keep([7], as: "7.code")
        #expect((0...7).compactMap { store.kept("\($0).code", limit: 9) } == [[4], [5], [6], [7]])
    }

    @Test func `What others may write, or have written, is none`() {
        store.keep([1], as: "a.code")
        let file = store.keptPath.appending("a.code").string
        #expect(chmod(file, 0o620) == 0)
        #expect(store.kept("a.code", limit: 9) == nil)
        #expect(chmod(file, 0o600) == 0)
        #expect(store.kept("a.code", limit: 9) == [1])
        #expect(chmod(store.keptPath.string, 0o777) == 0)
        #expect(store.kept("a.code", limit: 9) == nil)
        store.keep([2], as: "a.code")
        #expect(chmod(store.keptPath.string, 0o700) == 0)
        #expect(store.kept("a.code", limit: 9) == [1])
    }

    @Test(.enabled(if: geteuid() == 0, "needs root, who can give files away"))
    func `What belongs to another user is none`() {
        store.keep([1], as: "a.code")
        #expect(chown(store.keptPath.appending("a.code").string, 12345, 12345) == 0)
        #expect(store.kept("a.code", limit: 9) == nil)
        store.keep([2], as: "a.code")
        #expect(store.kept("a.code", limit: 9) == [2])
        #expect(chown(store.path.string, 12345, 12345) == 0)
        #expect(store.kept("a.code", limit: 9) == nil)
    }

    @Test func `Links and FIFOs are not followed`() {
        store.keep([1], as: "a.code")
        let file = store.keptPath.appending("b.code").string
        #expect(symlink(store.keptPath.appending("a.code").string, file) == 0)
        #expect(store.kept("b.code", limit: 9) == nil)
        #expect(mkfifo(store.keptPath.appending("c.code").string, 0o600) == 0)
        #expect(store.kept("c.code", limit: 9) == nil)
        let elsewhere = temporary.directory.appending("elsewhere").string
        #expect(rename(store.keptPath.string, elsewhere) == 0)
        #expect(symlink(elsewhere, store.keptPath.string) == 0)
        #expect(store.kept("a.code", limit: 9) == nil)
    }

    @Test func `Without a store nothing is kept, and nothing happens`() {
        let store = ReportStore(path: FilePath("/proc/holdfast-store"))
        store.keep([1], as: "a.code")
        #expect(store.kept("a.code", limit: 9) == nil)
    }
}
