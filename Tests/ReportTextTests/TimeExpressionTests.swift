import Testing

@testable import CrashReports
@testable import ReportText

@Suite struct TimeExpressionTests {
    private let now = Timestamp(seconds: 1_795_243_212)

    @Test(arguments: [
        ("now", "2026-11-21 06:40:12"), ("today", "2026-11-21 00:00:00"), ("Yesterday", "2026-11-20 00:00:00"),
        ("90s", "2026-11-21 06:38:42"), ("2h", "2026-11-21 04:40:12"), ("2h ago", "2026-11-21 04:40:12"),
        ("1d12h", "2026-11-19 18:40:12"), ("1.5h", "2026-11-21 05:10:12"), ("1w", "2026-11-14 06:40:12"),
        ("05:30", "2026-11-21 05:30:00"), ("05:30:59", "2026-11-21 05:30:59"), ("2026-02-28", "2026-02-28 00:00:00"),
        ("2026-11-20 23:59", "2026-11-20 23:59:00"), ("2026-11-20T23:59:58Z", "2026-11-20 23:59:58"),
        ("2026-11-20T23:59:58.123456Z", "2026-11-20 23:59:58"), ("@0", "1970-01-01 00:00:00"),
    ])
    func `A time is read as people type it`(text: String, time: String) {
        #expect(TimeExpression.time(text, now: now)?.brief == time)
    }

    @Test(arguments: [
        "", " ", "soon", "h", "2", "2x", "2h3d", "2h2h", "-2h", "nan h", "2026-02-30", "2026-11-21 25:00", "24:00",
        "1:2",
        "@", "@-1", "@1e3", "2026-11-21junk", "日", "infd",
    ])
    func `Anything else is none`(text: String) {
        #expect(TimeExpression.time(text, now: now) == nil)
    }

    @Test func `No number is too large`() {
        #expect(TimeExpression.time("99999999999999999999w", now: now) != nil)
        #expect(TimeExpression.time("@9223372036854775807", now: now) != nil)
        #expect(ByteCount.bytes("99999999T") == nil)
    }

    @Test(arguments: [
        ("0", 0), ("1000", 1000), ("1k", 1024), ("50M", 52_428_800), ("1.5GiB", 1_610_612_736), ("2MB", 2_097_152),
    ])
    func `A number of bytes has a unit or none`(text: String, bytes: Int) {
        #expect(ByteCount.bytes(text) == bytes)
    }

    @Test(arguments: ["", "M", "-1", "1X", "1 M", "0x10", "inf", "nan"]) func `What is no number of bytes`(text: String)
    {
        #expect(ByteCount.bytes(text) == nil)
    }

    @Test(arguments: [
        (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (52_428_800, "50.0 MiB"), (.max, "8.0 EiB"), (-5, "-5 B"),
    ])
    func `A number of bytes is told in its largest unit`(bytes: Int, text: String) {
        #expect(ByteCount(bytes).text == text)
    }

    @Test(arguments: [
        (-5, "in the future"), (0, "just now"), (90, "90 seconds"), (150, "2 minutes"), (200_000, "2 days"),
    ])
    func `An age is told in its largest unit`(seconds: Double, text: String) {
        #expect(Age(now, since: now.adding(seconds: -seconds)).text.hasPrefix(text))
    }
}
