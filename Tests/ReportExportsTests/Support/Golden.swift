import Foundation

/// Texts that were looked at once and must stay as they are.
enum Golden {
    /// The text of a file in `Fixtures`.
    static func text(_ name: String) throws -> String {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: folder.appendingPathComponent("Fixtures/\(name)"), encoding: .utf8)
    }
}
