import Foundation

/// A folder for one test, gone when the test is.
public final class TemporaryFolder: Sendable {
    /// The folder, which exists.
    public let path: String

    /// Makes the folder.
    public init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("holdfast-tests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    /// Makes the folder with files in it, by their paths, which begin with a slash.
    public convenience init(files: [String: String]) throws {
        try self.init()
        for (name, text) in files {
            let folder = URL(fileURLWithPath: path + name).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try write(text, to: String(name.dropFirst()))
        }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Writes a file in the folder and returns its path.
    @discardableResult
    public func write(_ text: String, to name: String) throws -> String {
        let file = "\(path)/\(name)"
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        return file
    }
}
