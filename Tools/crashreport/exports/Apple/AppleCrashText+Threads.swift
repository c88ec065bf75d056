internal import CrashReports

/// The threads, the registers and the images.
extension AppleCrashText {
    func lines(of numbered: NumberedThread) -> [String] {
        var lines: [String] = []
        if let name = numbered.thread.name { lines.append("Thread \(numbered.number) name:  \(name)") }
        lines.append("Thread \(numbered.number)\(numbered.hasCrashed ? " Crashed" : ""):")
        return lines + numbered.thread.frames.map(line)
    }

    /// A frame on its line: `%-4ld%-35S 0x%016llx %@`.
    private func line(_ frame: CrashReport.Frame) -> String {
        let image = report.image(of: frame)
        let name = image?.name ?? frame.imageName ?? "???"
        let place = [
            String(frame.index).filled(4), name.limited(to: 200).filled(35), " ", frame.address.padded, " ",
        ]
        return place.joined() + symbol(frame, image)
    }

    /// Function and offset, else image and offset; the source as a symbolicated report of Apple's has it.
    private func symbol(_ frame: CrashReport.Frame, _ image: CrashReport.Image?) -> String {
        guard let function = frame.function else {
            let base = image?.base ?? HexAddress(0)
            let offset = frame.address.rawValue >= base.rawValue ? frame.address.rawValue - base.rawValue : 0
            return "\(base) + \(offset)"
        }
        var text = "\(function.limited(to: 1024)) + \(max(0, frame.functionOffset ?? 0))"
        if let source = frame.sourceLocation { text += " (\(source.limited(to: 200)))" }
        return frame.inlined ? text + " [inlined]" : text
    }

    /// Four to a line: `%6s: 0x%016llx `, with the blank at the end.
    var registers: [String] {
        let values = report.thread.registers
        let names = RegisterNames.sorted(values.keys)
        var lines = ["Thread \(crashedThreadNumber) crashed with \(codeType) Thread State:"]
        for start in stride(from: 0, to: names.count, by: 4) {
            let cells = names[start..<min(start + 4, names.count)].map { name in
                let shown = name == "eflags" ? "rflags" : name
                return "\(shown.leftFilled(6)): \((values[name] ?? HexAddress(0)).padded) "
            }
            lines.append(cells.joined())
        }
        return lines + [""]
    }

    /// `%18#llx - %18#llx %@%@ %@  <%@> %@`, by their addresses; the end is the last address.
    var images: [String] {
        var lines = ["Binary Images:"]
        var last: HexAddress?
        for image in report.images.sorted(by: { $0.base < $1.base }) where image.base != last {
            last = image.base
            // Not one past the end: that has no number where an image ends with the last address.
            let end = HexAddress(image.base.rawValue + (max(1, image.size) - 1))
            let mark = image.path == report.process.executable ? "+" : " "
            let range = "\(image.base.description.leftFilled(18)) - \(end.description.leftFilled(18))"
            let identifier = image.identifierBytes.map(Self.digits) ?? "???"
            let name = "\(mark)\(image.name) \(report.host.architecture)"
            lines.append("\(range) \(name)  <\(identifier)> \(image.path)")
        }
        return lines
    }

    private static func digits(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension String {
    /// The text with blanks after it, up to a width.
    fileprivate func filled(_ width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }

    /// The text with blanks before it, up to a width.
    fileprivate func leftFilled(_ width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}
