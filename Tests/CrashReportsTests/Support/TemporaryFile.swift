import Foundation

/// A file that is there as long as a test looks at it.
enum TemporaryFile {
    /// Writes text into a file in a folder of its own, and removes both afterwards.
    static func with(_ text: String, named name: String, _ body: (_ path: String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "holdfast-tests-\(UUID().uuidString)"
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent(name)
        try Data(text.utf8).write(to: file)
        try body(file.path)
    }
}
