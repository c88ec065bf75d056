import Glibc

/// Times in nanoseconds, sorted.
struct Sample {
    private let values: [Double]

    init(_ values: [Double]) {
        self.values = values.sorted()
    }

    var median: Double { percentile(50) }

    /// The value that so many percent do not exceed; NaN without any.
    func percentile(_ percent: Double) -> Double {
        guard !values.isEmpty else { return .nan }
        return values[min(values.count - 1, Int(Double(values.count) * percent / 100))]
    }
}

/// CLOCK_MONOTONIC in nanoseconds.
func now() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}

/// Says on a terminal what is being measured.
enum Progress {
    static func say(_ what: String) {
        guard isatty(2) == 1 else { return }
        let text = "\r\u{1B}[K" + what
        _ = unsafe write(2, text, text.utf8.count)
    }

    /// Clears the line.
    static func end() { say("") }
}
