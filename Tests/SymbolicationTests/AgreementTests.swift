import Glibc
import Symbolication
import TestSupport
import Testing

/// One function at an address, as far as both sides tell it.
private struct Comparable: Equatable {
    var function: String
    /// Zero where the compiler recorded none.
    var line: Int
    var column: Int
}

/// Runs a command of the shell and returns what it printed, or nil when it failed.
private func output(of command: String) -> String? {
    guard let pipe = popen(command, "r") else { return nil }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = fread(&chunk, 1, chunk.count, pipe), count > 0 {
        bytes += chunk[..<count]
    }
    return pclose(pipe) == 0 ? String(decoding: bytes, as: UTF8.self) : nil
}

/// The frames that the toolchain's symboliser gives for addresses as linked, or nil where there is no such tool.
private func reference(path: String, addresses: [UInt64]) -> [[Comparable]]? {
    let list = addresses.map { "0x" + String($0, radix: 16) }.joined(separator: " ")
    let command = "llvm-symbolizer --inlines --no-demangle --obj='\(path)' \(list) 2>/dev/null"
    guard let text = output(of: command) else { return nil }
    var results: [[Comparable]] = [[]]
    var function: Substring?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
        if line.isEmpty {
            results.append([])
        } else if let name = function {
            let fields = line.split(separator: ":")
            let numbers = line.contains("<compiler-generated>") ? [] : fields.suffix(2).map { Int($0) ?? 0 }
            results[results.count - 1].append(
                Comparable(
                    function: String(name),
                    line: numbers.first ?? 0,
                    column: (numbers.first ?? 0) > 0 ? numbers.last ?? 0 : 0
                )
            )
            function = nil
        } else {
            function = line
        }
    }
    return results.filter { !$0.isEmpty }
}

@Suite("Agreement")
struct AgreementTests {
    @Test(
        "with the toolchain's symboliser on functions, inlined calls, lines and columns of this program",
        .enabled(if: output(of: "llvm-symbolizer --version 2>/dev/null") != nil, "needs llvm-symbolizer")
    )
    func wholeProgram() throws {
        let image = try #require(mappedImage(containing: returnAddress()))
        let symbolicator = Symbolicator(images: [image])
        // Only where something is known: elsewhere the tool names the symbol before, whether or not it reaches so far.
        let known = stride(from: image.base, to: image.end, by: 1 + Int(image.end - image.base) / 1500).filter {
            symbolicator.symbolicate(address: $0, isReturnAddress: false).contains { $0.file != nil }
        }
        try #require(known.count > 100)
        let expected = try #require(reference(path: image.path, addresses: known.map { $0 - image.base }))
        try #require(expected.count == known.count)
        for (address, expected) in zip(known, expected) {
            let frames = symbolicator.symbolicate(address: address, isReturnAddress: false)
            let ours = frames.enumerated().map { index, frame in
                // A line beside the address, where it has none of its own, has no column.
                let isBeside = index == 0 && frame.column == nil && expected.first?.line == 0
                return Comparable(
                    function: frame.rawName ?? "??",
                    line: isBeside ? 0 : frame.line ?? 0,
                    column: frame.column ?? 0
                )
            }
            #expect(ours == expected)
        }
    }
}
