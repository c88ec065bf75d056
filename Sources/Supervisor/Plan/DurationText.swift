extension Duration {
    /// Reads `10s`, `500ms`, `2min`, `1h`, `infinity`, or a number of seconds such as `1.5`.
    ///
    /// - Parameter text: The text; negative and endless times are none.
    package init?(readingTime text: String) {
        if text == "infinity" {
            self = .seconds(1_000_000_000)
            return
        }
        let units: KeyValuePairs<String, Double> = [
            "ms": 0.001, "us": 0.000_001, "min": 60, "s": 1, "m": 60, "h": 3600,
        ]
        var number = Substring(text)
        var scale = 1.0
        if let unit = units.first(where: { text.hasSuffix($0.key) }) {
            number = number.dropLast(unit.key.count)
            scale = unit.value
        }
        guard let value = Double(number), value >= 0, value * scale < 1_000_000_000 else { return nil }
        self = .nanoseconds(Int64(value * scale * 1_000_000_000))
    }

    /// Its length in nanoseconds; the largest number for what is longer.
    var nanosecondCount: Int64 {
        let parts = components
        let (whole, overflows) = parts.seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflows else { return .max }
        return whole.addingReportingOverflow(parts.attoseconds / 1_000_000_000).partialValue
    }

    /// Its length in seconds.
    package var secondCount: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }

    /// `350 ms`, `12.5 s`, `4 min`.
    package var inPlainWords: String {
        let seconds = secondCount
        if seconds < 1 { return "\(Int((seconds * 1000).rounded())) ms" }
        if seconds < 120 { return "\(trimmed(seconds)) s" }
        return seconds < 7200 ? "\(Int((seconds / 60).rounded())) min" : "\(trimmed(seconds / 3600)) h"
    }

    private func trimmed(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
}
