package import CrashReports
package import Foundation

/// Reports that come with the tests.
package enum Fixture {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Fixtures")

    /// The reports in `Fixtures`, of every version: one that was released is never taken away.
    package static let reports = [
        "v1-fault.json", "v1-plain.json", "v1-recovery.json", "v1-everything.json", "v1-stall.json", "v1-ping.json",
        "v1-death.json", "v1-exit.json",
    ]

    /// Where a file in `Fixtures` is.
    package static func url(_ name: String) -> URL { folder.appendingPathComponent(name) }

    /// The bytes of a file in `Fixtures`.
    package static func bytes(_ name: String) throws -> [UInt8] {
        try Array(Data(contentsOf: url(name)))
    }

    /// The report in a file in `Fixtures`.
    package static func report(_ name: String) throws -> CrashReport {
        try CrashReport(json: bytes(name))
    }
}
