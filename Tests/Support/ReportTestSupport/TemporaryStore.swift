package import CrashReports
import Foundation
package import SystemPackage
import TestSupport

/// A directory for one test, gone when the test is.
package final class TemporaryStore: Sendable {
    private let folder: TemporaryFolder
    /// A store in the directory, which does not exist.
    package let store: ReportStore

    /// Makes the directory.
    package init() throws {
        folder = try TemporaryFolder()
        store = ReportStore(path: FilePath(folder.path).appending("state").appending("holdfast"))
    }

    /// The directory, which exists.
    package var directory: FilePath { FilePath(folder.path) }

    /// Puts any bytes in the place of a report.
    package func plant(_ bytes: some Sequence<UInt8>, name: String) throws {
        try store.create()
        try Data(bytes).write(to: URL(fileURLWithPath: store.reportsPath.appending(name).string))
    }
}
