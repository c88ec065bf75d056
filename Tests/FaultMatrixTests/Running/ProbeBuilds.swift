import Foundation
import TestSupport

/// The probes that are run, by how they were built.
enum ProbeBuilds {
    /// Which cases are run: `core` and `sample` as in `Tools/fault-matrix`, else all.
    static let selection = ProcessInfo.processInfo.environment["FAULT_MATRIX_SELECTION"]

    /// Whether the probes have a static standard library (`Tools/fault-matrix --static`).
    static let areStatic = ProcessInfo.processInfo.environment["FAULT_MATRIX_STATIC"] != nil

    /// Whether the probes have SwiftNIO's event loops: `Tools/fault-matrix` builds them so, but for a sample.
    static let haveEventLoops = ProcessInfo.processInfo.environment["FAULT_MATRIX_NIO"] != nil

    /// The probes that `Tools/fault-matrix` names, or the one that was built with the tests.
    ///
    /// It names them in the environment, as `FAULT_MATRIX_PROBES=debug=PATH:release=PATH:cross-module=PATH`.
    static func paths() throws -> [Build: String] {
        guard let list = ProcessInfo.processInfo.environment["FAULT_MATRIX_PROBES"] else {
            return [BuiltProduct.isDebug ? .debug : .release: try BuiltProduct.path(of: "fault-matrix-probe")]
        }
        var paths: [Build: String] = [:]
        for entry in list.split(separator: ":") {
            let parts = entry.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let build = Build(rawValue: String(parts[0])) else {
                throw HarnessError("FAULT_MATRIX_PROBES: not build=path: \(entry)")
            }
            paths[build] = String(parts[1])
        }
        return paths
    }
}
