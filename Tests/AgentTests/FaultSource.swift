import FaultInjection
import Foundation
import TestSupport

/// Where a fault is written.
struct FaultSource {
    /// The path of the file.
    let path: String
    /// The lines between those of the function's first and of its last brace.
    let body: ClosedRange<Int>

    /// Finds the function that commits a fault.
    init(of fault: Fault) throws {
        for folder in ["Sources/FaultInjection", "Sources/FaultInjection/CFaultInjection"] {
            let folder = BuiltProduct.package + "/" + folder
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) where Self.isSource(name) {
                let path = folder + "/" + name
                let lines = try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n")
                guard let start = lines.firstIndex(where: { Self.begins(fault.functionName, $0) }),
                    let end = lines[start...].firstIndex(of: "}"), start + 2 <= end
                else { continue }
                self.path = path
                body = start + 2...end
                return
            }
        }
        throw HarnessError("no source for \(fault.functionName)")
    }

    private static func isSource(_ name: String) -> Bool {
        [".swift", ".c", ".cpp"].contains { name.hasSuffix($0) }
    }

    private static func begins(_ function: String, _ line: String) -> Bool {
        line.hasSuffix("{") && (line.contains(" \(function)()") || line.contains(" \(function)(void)"))
    }
}
