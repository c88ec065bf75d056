import Foundation
import SystemPackage

@testable import CrashReports

/// A directory for one test, gone when the test is.
final class TemporaryStore: Sendable {
    /// The directory, which exists.
    let directory: FilePath
    /// A store in it, which does not.
    let store: ReportStore

    init() throws {
        let name = "holdfast-tests-\(UUID().uuidString)"
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        directory = FilePath(url.path)
        store = ReportStore(path: directory.appending("state").appending("holdfast"))
    }

    deinit {
        try? FileManager.default.removeItem(atPath: directory.string)
    }

    /// Puts any bytes in the place of a report.
    func plant(_ bytes: some Sequence<UInt8>, name: String) throws {
        try store.create()
        try Data(bytes).write(to: URL(fileURLWithPath: store.reportsPath.appending(name).string))
    }
}

/// Files that come with the tests.
enum Fixture {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The root of the package.
    static let package = folder.deletingLastPathComponent().deletingLastPathComponent()

    /// The reports in `Fixtures`, of every version: one that was released is never taken away.
    static let reports = [
        "v1-fault.json", "v1-plain.json", "v1-recovery.json", "v1-everything.json", "v1-stall.json", "v1-ping.json",
    ]

    /// Where a file in `Fixtures` is.
    static func url(_ name: String) -> URL { folder.appendingPathComponent("Fixtures/\(name)") }

    /// The bytes of a file in `Fixtures`.
    static func bytes(_ name: String) throws -> [UInt8] {
        try Array(Data(contentsOf: url(name)))
    }
}
