import Foundation
import TestSupport

/// Programs of other projects, called through Python, which say as JSON what they see.
enum PythonScript {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Scripts").path

    /// Runs a script of `Scripts` and reads what it prints.
    static func run(_ script: String, _ arguments: [String]) throws -> Any {
        let run = try Python.run(
            ["-B", "\(folder)/\(script)"] + arguments,
            environment: ["HOME": "/tmp"],
            // A browser takes its time to start beside a build.
            within: .seconds(200)
        )
        guard run.end == .exited(0) else {
            throw HarnessError(
                "\(script) failed; is everything there? Run Tools/install --tests. \(run.errors.suffix(2000))"
            )
        }
        return try JSONSerialization.jsonObject(with: Data(run.output.utf8), options: .fragmentsAllowed)
    }
}

/// A value of JSON with a path to what is in it.
struct Seen {
    let value: Any?

    init(_ value: Any?) {
        self.value = value
    }

    subscript(_ key: String) -> Seen { Seen((value as? [String: Any])?[key]) }

    subscript(_ place: Int) -> Seen {
        guard let list = value as? [Any], list.indices.contains(place) else { return Seen(nil) }
        return Seen(list[place])
    }

    var string: String? { value as? String }
    var integer: Int? { value as? Int }
    var number: Double? { (value as? NSNumber)?.doubleValue }
    var bool: Bool? { value as? Bool }
    var list: [Seen]? { (value as? [Any])?.map { Seen($0) } }
    var strings: [String]? { value as? [String] }
    var keys: Set<String>? { (value as? [String: Any]).map { Set($0.keys) } }
    var isAbsent: Bool { value == nil }
}
