import TestSupport

/// Copies a program with functions in Swift and in C.
///
/// - Parameters:
///   - options: What objcopy(1) is to do to the copy.
///   - path: The path of the copy.
/// - Throws: `HarnessError`.
func copyProbe(_ options: [String], to path: String) throws {
    let built = try BuiltProduct.path(of: "recovery-probe")
    let run = try ProgramRun.run("/usr/bin/env", ["objcopy"] + options + [built, path], within: .seconds(60))
    guard run.end == .exited(0) else { throw HarnessError("objcopy: \(run.errors)") }
}
