internal import CrashReports

/// Numbers as pictures made of characters.
enum TextChart {
    private static let blocks: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
    private static let marks: [Character] = [".", ":", "-", "=", "+", "*", "#", "@"]
    private static let eighths: [Character] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"]

    /// Draws numbers side by side, a character each; nothing is a point or a space, the largest one a full block.
    static func sparkline(_ values: [Int], _ layout: TextLayout) -> String {
        let largest = values.max() ?? 0
        let steps = layout.isUnicode ? blocks : marks
        return String(
            values.map { value -> Character in
                guard value > 0, largest > 0 else { return layout.isUnicode ? "·" : " " }
                return steps[min(steps.count - 1, Int(Double(value) / Double(largest) * Double(steps.count)))]
            }
        )
    }

    /// Draws a number as a bar; one that is not zero has some length.
    static func bar(_ value: Int, of largest: Int, width: Int, _ layout: TextLayout) -> String {
        guard value > 0, largest > 0, width > 0 else { return "" }
        let length = min(1, Double(value) / Double(largest)) * Double(width)
        guard layout.isUnicode else { return String(repeating: "#", count: max(1, Int(length.rounded()))) }
        let parts = max(1, Int((length * 8).rounded()))
        let rest = parts % 8
        return String(repeating: "█", count: parts / 8) + (rest == 0 ? "" : String(eighths[rest - 1]))
    }
}
