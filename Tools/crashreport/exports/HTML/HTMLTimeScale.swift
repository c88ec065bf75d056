internal import CrashReports
internal import ReportText

/// Where a time lies on an axis.
struct HTMLTimeScale {
    /// The times at the ends, in microseconds since 1970; the end is after the start.
    let start: Int64
    let end: Int64
    /// Where the axis is drawn.
    let left: Double
    let width: Double
    /// By whose clocks times are round.
    let zone: DisplayZone

    /// Makes an axis for some times, with a little room on both sides.
    init(first: Timestamp, last: Timestamp, left: Double, width: Double, zone: DisplayZone) {
        let from = first.microsecondsSinceEpoch
        let to = max(from, last.microsecondsSinceEpoch)
        // Times are below 2^58: sums of a few of them do not overflow.
        let room = max((to - from) / 40, 1_000_000)
        start = from - room
        end = to + room
        self.left = left
        self.width = width
        self.zone = zone
    }

    /// The place of a time; one that lies before or after is at that end.
    func place(of time: Timestamp) -> Double {
        place(ofMicroseconds: time.microsecondsSinceEpoch)
    }

    private func place(ofMicroseconds time: Int64) -> Double {
        let part = Double(min(max(time, start), end) - start) / Double(end - start)
        return left + part * width
    }

    /// Cuts the axis into equal parts.
    ///
    /// - Parameters:
    ///   - time: A time.
    ///   - count: How many parts.
    /// - Returns: The part that the time lies in, from 0.
    func bucket(of time: Timestamp, of count: Int) -> Int {
        let part = Double(min(max(time.microsecondsSinceEpoch, start), end) - start) / Double(end - start)
        return min(count - 1, Int(part * Double(count)))
    }

    /// A place on the axis with words.
    struct Tick {
        var place: Double
        var text: String
    }

    /// Round times on the axis, eight at most.
    var ticks: [Tick] {
        let step = Self.steps.first { (end - start) / ($0 * 1_000_000) < 8 } ?? (end - start) / 8_000_000 + 1
        let micros = step * 1_000_000
        var ticks: [Tick] = []
        // What is round by a clock of the zone; where the clock is changed between two of them, that moves.
        let civilStart = zone.civil(Timestamp(microsecondsSinceEpoch: start)).microsecondsSinceEpoch
        var civil = (civilStart / micros + 1) * micros
        while ticks.count < 9 {
            let time = zone.time(ofCivil: Timestamp(microsecondsSinceEpoch: civil)).microsecondsSinceEpoch
            guard time < end else { break }
            ticks.append(Tick(place: place(ofMicroseconds: time), text: text(civil, step)))
            civil += micros
        }
        return ticks
    }

    /// The day at midnight, else the hour as exactly as the steps are.
    private func text(_ civil: Int64, _ step: Int64) -> String {
        let time = Timestamp(microsecondsSinceEpoch: civil)
        let clock = HTMLWords.clock(time)
        if step >= 86400 || clock == "00:00:00" { return HTMLWords.day(time) }
        return step >= 60 ? String(clock.prefix(5)) : clock
    }

    private static let steps: [Int64] = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172_800, 604_800,
        1_209_600, 2_592_000, 7_776_000, 31_536_000,
    ]
}

extension HTMLReportPage {
    /// Counts the faults of reports in equal parts of an axis; those that a report counts lie evenly between its first and
    /// its last.
    static func histogram(_ entries: [Entry], _ scale: HTMLTimeScale, buckets: Int) -> [Double] {
        var counts = Array(repeating: 0.0, count: buckets)
        for entry in entries {
            let first = scale.bucket(of: entry.time, of: buckets)
            let last = max(first, scale.bucket(of: entry.last, of: buckets))
            // With a few faults their ends are known; the many of a flood are spread.
            guard entry.count > 1, last > first else {
                counts[first] += Double(entry.count)
                continue
            }
            let share = Double(entry.count) / Double(last - first + 1)
            for bucket in first...last { counts[bucket] += share }
        }
        return counts
    }
}
