import Foundation
import Testing

/// Text that was looked at once and must stay as it is.
enum Snapshot {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures")

    /// Compares text with a file in `Fixtures`.
    ///
    /// With `HOLDFAST_UPDATE_SNAPSHOTS` in the environment, the file is written instead: look at what changed in it.
    static func check(_ text: String, _ name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let file = folder.appendingPathComponent(name)
        if ProcessInfo.processInfo.environment["HOLDFAST_UPDATE_SNAPSHOTS"] != nil {
            return try Data(text.utf8).write(to: file)
        }
        let expected = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        // Line by line, so that a failure says which one it is.
        let (found, wanted) = (lines(text), lines(expected))
        for index in 0..<max(found.count, wanted.count) {
            let (shown, other) = (index < found.count ? found[index] : nil, index < wanted.count ? wanted[index] : nil)
            #expect(shown == other, "line \(index + 1) of \(name)", sourceLocation: sourceLocation)
        }
    }

    private static func lines(_ text: String) -> [Substring] {
        text.split(separator: "\n", omittingEmptySubsequences: false)
    }
}
