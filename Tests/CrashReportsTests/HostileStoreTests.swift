import Foundation
import Glibc
import ReportTestSupport
import SystemPackage
import Testing

@testable import CrashReports

/// A store into which somebody put what does not belong there.
@Suite struct HostileStoreTests {
    private let temporary: TemporaryStore
    private var store: ReportStore { temporary.store }
    private let good = SampleReport.minimal()

    init() throws {
        temporary = try TemporaryStore()
        try store.write(good)
    }

    /// The one problem of the listing, which still has the good report.
    private func problem() throws -> ReportStoreError {
        let listing = try store.summaries()
        #expect(listing.summaries.map(\.id) == [good.id])
        #expect(listing.problems.count == 1)
        return try #require(listing.problems.first)
    }

    @Test(arguments: [
        "", "{", "null", "[]", "{\"schemaVersion\":1}", "\u{0}\u{1}", "{\"schemaVersion\":99999999999999999999}",
    ])
    func `A damaged report is told apart from the others`(text: String) throws {
        let id = try SampleReport.id("ff")
        try temporary.plant(text.utf8, name: "\(id).json")
        let problem = try problem()
        #expect(problem.code == .damaged)
        #expect(problem.path == store.path(of: id))
        #expect(problem.description.contains("\(id).json"))
    }

    @Test func `A report under another name is damaged`() throws {
        try temporary.plant(try good.json(), name: "\(try SampleReport.id("ff")).json")
        #expect(try problem().code == .damaged)
    }

    @Test func `A file with a name that no report has is reported`() throws {
        try temporary.plant(try good.json(), name: "holiday.json")
        #expect(try problem().code == .damaged)
    }

    @Test func `Files that are no JSON are none of ours`() throws {
        try temporary.plant("x".utf8, name: "README")
        #expect(try store.summaries().problems.isEmpty)
    }

    @Test func `A report of another version says so`() throws {
        let id = try SampleReport.id("ff")
        try temporary.plant("{\"schemaVersion\": 99}".utf8, name: "\(id).json")
        let problem = try problem()
        #expect(problem.code == .unsupportedVersion)
        #expect(problem.description.contains("up to \(CrashReport.schemaVersion)"))
    }

    @Test func `A symbolic link in the place of a report is refused`() throws {
        let id = try SampleReport.id("ff")
        #expect(symlink(store.path(of: good.id).string, store.path(of: id).string) == 0)
        #expect(try problem().code == .symbolicLink)
        #expect(throws: ReportStoreError.self) { try store.load(prefix: "ff") }
    }

    @Test func `A FIFO or a directory in the place of a report is refused`() throws {
        let id = try SampleReport.id("ff")
        #expect(mkfifo(store.path(of: id).string, 0o600) == 0)
        #expect(try problem().code == .wrongKind)
        #expect(unlink(store.path(of: id).string) == 0)
        #expect(mkdir(store.path(of: id).string, 0o700) == 0)
        #expect(try problem().code == .wrongKind)
    }

    @Test func `A file larger than any report is refused`() throws {
        let id = try SampleReport.id("ff")
        try temporary.plant([], name: "\(id).json")
        #expect(truncate(store.path(of: id).string, 1 << 40) == 0)
        #expect(try problem().code == .tooLarge)
    }

    @Test(.enabled(if: geteuid() == 0, "needs root, who can give files away"))
    func `Files of another user are refused`() throws {
        let id = try SampleReport.id("ff")
        try temporary.plant(try good.json(), name: "\(id).json")
        #expect(chown(store.path(of: id).string, 12345, 12345) == 0)
        #expect(try problem().code == .foreignOwner)
        #expect(chown(store.path.string, 12345, 12345) == 0)
        let error = #expect(throws: ReportStoreError.self) { try store.write(good) }
        #expect(error?.code == .foreignOwner)
        #expect(error?.description.contains("12345") == true)
    }

    @Test func `A symbolic link in the place of a store or of its folder is refused`() throws {
        let link = temporary.directory.appending("link")
        #expect(symlink(store.path.string, link.string) == 0)
        let linked = ReportStore(path: link)
        #expect(throws: ReportStoreError.self) { try linked.last() }
        let error = #expect(throws: ReportStoreError.self) { try linked.write(good) }
        #expect(error?.code == .symbolicLink)

        let moved = store.path.appending("moved")
        #expect(rename(store.reportsPath.string, moved.string) == 0)
        #expect(symlink(moved.string, store.reportsPath.string) == 0)
        #expect(throws: ReportStoreError.self) { try store.summaries() }
    }

    @Test func `A file in the place of a store is refused`() throws {
        let path = temporary.directory.appending("file")
        #expect(FileManager.default.createFile(atPath: path.string, contents: nil))
        let error = #expect(throws: ReportStoreError.self) { try ReportStore(path: path).last() }
        #expect(error?.code == .wrongKind)
    }

    @Test func `A write into nowhere is an error`() throws {
        let path = FilePath("/proc/holdfast-store")
        let error = #expect(throws: ReportStoreError.self) { try ReportStore(path: path).write(good) }
        #expect(error?.code == .unwritable)
        #expect(error?.underlyingError != nil)
    }
}

@Suite struct StoreLocationTests {
    @Test(arguments: [
        (["HOLDFAST_STORE": "/a", "STATE_DIRECTORY": "/b", "HOME": "/h"], "/a"),
        (["STATE_DIRECTORY": "/b:/c", "XDG_STATE_HOME": "/x", "HOME": "/h"], "/b"),
        (["HOLDFAST_STORE": "", "STATE_DIRECTORY": "", "XDG_STATE_HOME": "/x", "HOME": "/h"], "/x/holdfast"),
        (["XDG_STATE_HOME": "relative", "HOME": "/h"], "/h/.local/state/holdfast"),
    ])
    func `The first variable that is set wins`(environment: [String: String], path: String) throws {
        #expect(try ReportStore.defaultPath(environment: environment) == FilePath(path))
    }

    @Test func `Without any variable there is no store`() {
        let error = #expect(throws: ReportStoreError.self) { try ReportStore.defaultPath(environment: [:]) }
        #expect(error?.code == .noLocation)
    }

    @Test func `A relative path starts at the working directory`() {
        let store = ReportStore(path: "x/../store")
        #expect(store.path == FilePath(FileManager.default.currentDirectoryPath).appending("store"))
    }
}
