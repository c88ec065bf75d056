internal import CrashReports

/// The parts of the text that are about bytes and addresses.
extension ReportText {
    private static let mostInstructions = 8
    private static let mostImages = 400
    private static let bytesPerLine = 16
    /// Of each piece of memory; the rest is in the JSON.
    private static let mostBytes = 1024

    func addInstructions(to output: inout StyledText) {
        // A signal that was sent says nothing about the instruction: an `abort` would show the C library's.
        guard let fault = report.fault, fault.code.number > 0 else { return }
        guard let code = fault.instructions, let bytes = code.bytes.hexBytes, !bytes.isEmpty else { return }
        let counter =
            report.thread.registers["rip"] ?? report.thread.registers["pc"] ?? report.thread.frames.first?.address
        let offset = counter.map { $0.rawValue &- code.address.rawValue } ?? 0
        // Instructions have no fixed length: before the one that faulted, there is no telling where one begins.
        let start = offset < UInt64(bytes.count) ? Int(offset) : 0
        output.heading("Code at \(HexAddress(code.address.rawValue &+ UInt64(start)))")
        let found = disassembly(Array(bytes[start...]), HexAddress(code.address.rawValue &+ UInt64(start)))
        for (index, instruction) in (found ?? []).prefix(Self.mostInstructions).enumerated() {
            output.add(index == 0 ? "> " : "  ", .bold)
            output.add(instruction.address.padded + "  ", .faint)
            output.end(instruction.text, index == 0 ? .bold : .plain)
        }
        // As the kernel writes it: the byte at the program counter in brackets.
        let shown = bytes.prefix(64).enumerated().map { index, byte in
            index == start ? "<\(Self.hex(byte))>" : Self.hex(byte)
        }
        output.end("  bytes " + shown.joined(separator: " "), .faint)
    }

    func addRegisters(to output: inout StyledText) {
        let registers = report.thread.registers
        guard !registers.isEmpty else { return }
        output.heading("Registers")
        let names = RegisterNames.sorted(registers.keys)
        // A name, its value and what is between them take 27 columns.
        let perLine = min(4, max(1, (layout.width ?? 108) / 27))
        for start in stride(from: 0, to: names.count, by: perLine) {
            for name in names[start..<min(start + perLine, names.count)] {
                output.add("  " + name.leftPadded(6) + " ", .faint)
                output.add(registers[name]?.padded ?? "")
            }
            output.end()
        }
    }

    func addMemory(to output: inout StyledText) {
        for piece in (report.fault?.memory ?? []).prefix(32) {
            guard let bytes = piece.bytes.hexBytes else { continue }
            output.heading("Memory: \(piece.about)")
            for start in stride(from: 0, to: min(bytes.count, Self.mostBytes), by: Self.bytesPerLine) {
                let line = bytes[start..<min(start + Self.bytesPerLine, bytes.count)]
                output.add("  \(HexAddress(piece.address.rawValue &+ UInt64(start)).padded)  ", .faint)
                output.add(line.map(Self.hex).joined(separator: " ").padded(Self.bytesPerLine * 3 - 1))
                let text = line.map { (0x20..<0x7f).contains($0) ? Character(Unicode.Scalar($0)) : "." }
                output.end("  " + String(text), .faint)
            }
            if bytes.count > Self.mostBytes {
                output.end("  \(layout.gap) \(bytes.count - Self.mostBytes) bytes more", .faint)
            }
        }
    }

    func addImages(to output: inout StyledText) {
        guard !report.images.isEmpty else { return }
        output.heading("Images")
        for image in report.images.prefix(Self.mostImages) {
            output.add("  \(image.base.padded)-\(image.end.padded) ", .faint)
            output.end(image.path + (image.buildID.map { ", build \($0)" } ?? ""))
        }
        if report.images.count > Self.mostImages {
            output.end("  \(layout.gap) \(report.images.count - Self.mostImages) more", .faint)
        }
    }

    func addNotes(to output: inout StyledText) {
        guard !report.notes.isEmpty else { return }
        output.heading("Notes")
        for note in report.notes { output.paragraph(note, first: "  ", rest: "  ") }
    }

    private static func hex(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }

}
