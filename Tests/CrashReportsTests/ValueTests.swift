import Testing

@testable import CrashReports

@Suite struct TimestampTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000000Z"), (951_782_400_000_001, "2000-02-29T00:00:00.000001Z"),
            (1_795_243_212_123_456, "2026-11-21T06:40:12.123456Z"),
            (4_107_542_399_999_999, "2100-02-28T23:59:59.999999Z"),
            (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
        ] as [(Int64, String)]
    )
    func `Text and number say the same`(micros: Int64, text: String) {
        #expect(Timestamp(microsecondsSinceEpoch: micros).description == text)
        #expect(Timestamp(text)?.microsecondsSinceEpoch == micros)
    }

    @Test(arguments: [
        "", "2026-11-21", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "2100-02-29T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "2026-11-21T24:00:00Z", "2026-11-21T06:40:60Z", "2026-11-21T06:40:12", "2026-11-21T06:40:12.Z",
        "2026-11-21T06:40:12.1234567890Z", "2026-11-21T06:40:12+00:00", "2026-11-21T06:40:12ZZ", "2026-1١-21T06:40:12Z",
    ])
    func `Other text is refused`(text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test func `Fewer decimals and more are read`() {
        #expect(Timestamp("1970-01-01T00:00:01Z")?.microsecondsSinceEpoch == 1_000_000)
        #expect(Timestamp("1970-01-01T00:00:00.5Z")?.microsecondsSinceEpoch == 500_000)
        #expect(Timestamp("1970-01-01T00:00:00.123456789Z")?.microsecondsSinceEpoch == 123_456)
    }

    @Test func `Numbers without a date become the nearest with one`() {
        #expect(Timestamp(microsecondsSinceEpoch: .min).microsecondsSinceEpoch == 0)
        #expect(Timestamp(microsecondsSinceEpoch: .max).description == "9999-12-31T23:59:59.999999Z")
        #expect(Timestamp(seconds: .max, nanoseconds: .max).description == "9999-12-31T23:59:59.999999Z")
        #expect(Timestamp(seconds: 1).adding(seconds: -.infinity).microsecondsSinceEpoch == 0)
        #expect(Timestamp(seconds: 1).adding(seconds: .nan) == Timestamp(seconds: 1))
        #expect(Timestamp(seconds: 1).adding(seconds: 1.5).microsecondsSinceEpoch == 2_500_000)
    }
}

@Suite struct HexAddressTests {
    @Test(arguments: [("0x0", 0), ("0x8", 8), ("0x7fff", 0x7fff), ("0xffffffffffffffff", .max)] as [(String, UInt64)])
    func `Text and number say the same`(text: String, value: UInt64) {
        #expect(HexAddress(text)?.rawValue == value)
        #expect(HexAddress(value).description == text)
    }

    @Test(arguments: ["", "0x", "8", "0x+8", "0x-8", "0xg", "0x10000000000000000", "0x8 "])
    func `Other text is refused`(text: String) {
        #expect(HexAddress(text) == nil)
    }
}

@Suite struct ReportIDTests {
    @Test func `Identifiers sort by time`() throws {
        let early = ReportID(time: Timestamp(seconds: 1_795_243_212, nanoseconds: 123_000_000))
        let late = ReportID(time: Timestamp(seconds: 1_795_243_212, nanoseconds: 124_000_000))
        #expect(early < late)
        #expect(early.rawValue.hasPrefix("01a1fcd57d5b"))
        #expect(ReportID(rawValue: early.rawValue) == early)
        #expect(ReportID(time: .now) != ReportID(time: .now))
    }

    @Test(arguments: ["", "01", "../../../../../../../../etc/passw", "01A1FCD57D5B8F3E7B21D4A6905C1E77"])
    func `Other text is refused`(text: String) {
        #expect(ReportID(rawValue: text) == nil)
    }
}

@Suite struct TerminalTextTests {
    @Test(arguments: [
        ("plain – ünïcode 漢字 🙂", "plain – ünïcode 漢字 🙂"), ("a\u{1b}[0m", "a\\u{1b}[0m"),
        ("a\nb\tc\r", "a\\u{a}b\\u{9}c\\u{d}"),
        ("\u{7f}\u{9b}", "\\u{7f}\\u{9b}"), ("\u{202e}\u{2066}", "\\u{202e}\\u{2066}"),
        ("\u{2028}\u{2029}", "\\u{2028}\\u{2029}"),
        ("\u{feff}\u{e0041}", "\\u{feff}\\u{e0041}"), ("\0", "\\u{0}"),
    ])
    func `Control characters become visible`(text: String, shown: String) {
        #expect(TerminalText.visible(text) == shown)
    }
}
