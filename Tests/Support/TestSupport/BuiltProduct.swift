public import Foundation

/// What was built with the tests.
public enum BuiltProduct {
    /// The root of the package.
    public static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .path

    /// A file of the package, by its path from there.
    public static func file(_ path: String) -> URL {
        URL(fileURLWithPath: package).appendingPathComponent(path)
    }

    /// Whether the tests are of a build without optimisation.
    public static let isDebug: Bool = {
        var isDebug = false
        // Its argument runs in a debug build only.
        assert(
            {
                isDebug = true
                return true
            }()
        )
        return isDebug
    }()

    /// Finds a program that was built with the tests: it lies beside the bundle, which is the program that runs.
    public static func path(of name: String) throws -> String {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = URL(fileURLWithPath: program).deletingLastPathComponent().appendingPathComponent(name).path
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw HarnessError("\(path) is not there: build with --build-tests")
        }
        return path
    }
}
