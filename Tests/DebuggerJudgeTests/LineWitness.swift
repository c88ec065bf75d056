import TestSupport

/// LLVM's symboliser, which is asked where a report and gdb differ about a line.
enum LineWitness {
    /// The lines of the functions active at addresses of a program: the function that was called first.
    ///
    /// - Parameters:
    ///   - addresses: As linked.
    ///   - program: A program with debug information.
    /// - Returns: For each address the line of each function, 0 where the debug information has none.
    /// - Throws: `HarnessError` when the symboliser fails.
    static func lines(of addresses: [UInt64], in program: String) throws -> [[Int]] {
        guard !addresses.isEmpty else { return [] }
        let texts = addresses.map { "0x" + String($0, radix: 16) }
        let arguments = ["llvm-symbolizer", "--inlines", "--no-demangle", "--obj=\(program)"] + texts
        let run = try ProgramRun.run("/usr/bin/env", arguments, within: .seconds(300))
        guard run.end == .exited(0) else { throw HarnessError("llvm-symbolizer: \(run.end) \(run.errors)") }
        // A function and its place in a line each; an empty line after each address.
        var all: [[Int]] = []
        var lines: [Int] = []
        var isPlace = false
        for line in run.output.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.isEmpty {
                if !lines.isEmpty { all.append(lines.reversed()) }
                lines = []
                isPlace = false
            } else {
                if isPlace {
                    let fields = line.split(separator: ":")
                    lines.append(fields.count > 2 ? Int(fields[fields.count - 2]) ?? 0 : 0)
                }
                isPlace.toggle()
            }
        }
        if !lines.isEmpty { all.append(lines.reversed()) }
        guard all.count == addresses.count else {
            throw HarnessError("llvm-symbolizer: \(all.count) answers to \(addresses.count) questions")
        }
        return all
    }
}
