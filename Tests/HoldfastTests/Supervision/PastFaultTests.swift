import CrashReports
import Testing

@testable import Holdfast

/// The last faults on their way through the environment, which everybody may write.
@Suite struct PastFaultTests {
    private static func fault(_ number: Int, label: String = "", at seconds: Int64? = nil) -> PastFault {
        PastFault(
            number: number,
            signal: 4,
            outcome: .restarted,
            label: label,
            time: Timestamp(seconds: seconds ?? Int64(number))
        )
    }

    /// Through the environment and back.
    private static func carried(_ history: RestartHistory) -> [PastFault] {
        let entries = history.environmentForRestart(base: [], isHealthy: false, pid: 42)
        let text = entries.first { $0.hasPrefix("HOLDFAST_LAST_FAULTS=") }.map { String($0.dropFirst(21)) }
        return RestartHistory(environment: text.map { ["HOLDFAST_LAST_FAULTS": $0] } ?? [:]).faults
    }

    @Test(arguments: [PastFault.Outcome.resumed, .quarantined, .restarted, .terminated])
    func `What is written is read`(outcome: PastFault.Outcome) {
        let faults = [
            PastFault(number: 1, signal: 4, outcome: outcome, label: "", time: Timestamp(microsecondsSinceEpoch: 0)),
            PastFault(
                number: Int(Int32.max),
                signal: 64,
                outcome: outcome,
                label: "client 79",
                time: Timestamp(microsecondsSinceEpoch: 1_795_000_000_123_456),
                processStart: Timestamp(microsecondsSinceEpoch: 1_794_000_000_000_001),
                phase: .running,
                isOfStartItem: true
            ),
        ]
        var history = RestartHistory.none
        for fault in faults { history.add(fault) }
        #expect(Self.carried(history) == faults)
    }

    @Test(
        arguments: [
            "a,b.c=d;e", "\u{1B}[31m\n\0", "Grüße 🐙", "%41", "%", ".", ",", String(repeating: "x", count: 96),
            String(repeating: "\u{7F}", count: 96),
        ]
    )
    func `Any label survives, and leaves the text plain`(label: String) {
        var history = RestartHistory.none
        history.add(Self.fault(1, label: label))
        #expect(Self.carried(history).map(\.label) == [label])
        let plain = PastFault.text(of: history.faults).utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x3D }
        #expect(plain)
    }

    @Test func `A label that is too long is cut at a whole character`() {
        let label = String(repeating: "x", count: 95) + "ß" + "y"
        var history = RestartHistory.none
        history.add(Self.fault(1, label: label))
        #expect(Self.carried(history).map(\.label) == [String(repeating: "x", count: 95)])
    }

    @Test func `Eight are kept, the newest, in the order of their times`() {
        var history = RestartHistory.none
        for number in [3, 1, 2, 12, 11, 10, 9, 8, 7, 6, 5, 4] { history.add(Self.fault(number)) }
        #expect(history.faults.map(\.number) == Array(5...12))
        #expect(Self.carried(history).map(\.number) == Array(5...12))
        history.add(Self.fault(1))
        #expect(history.faults.map(\.number) == Array(5...12), "older than all")
    }

    @Test func `A fault that the spool tells as well is there once`() {
        var history = RestartHistory.none
        history.add(Self.fault(1, label: "clock"))
        history.add(Self.fault(1, label: "clock"))
        history.add(Self.fault(2, at: 1))
        #expect(history.faults.map(\.number) == [1, 2])
    }

    @Test func `However long the labels, what is written can be read`() {
        var history = RestartHistory.none
        for number in 1...8 {
            history.add(
                PastFault(
                    number: Int(Int32.max) - number,
                    signal: 64,
                    outcome: .terminated,
                    label: String(repeating: "\u{1}", count: 1000),
                    time: Timestamp(microsecondsSinceEpoch: .max),
                    processStart: Timestamp(microsecondsSinceEpoch: .max)
                )
            )
        }
        let text = PastFault.text(of: history.faults)
        #expect(text.utf8.count <= PastFault.longestText)
        #expect(Self.carried(history).count == 8)
    }

    @Test(
        arguments: [
            "", ",", ".....", "1.4.r.0..,", "0.4.r.0..", "-1.4.r.0..", "2147483648.4.r.0..", "1.0.r.0..", "1.65.r.0..",
            "1.4.x.0..", "1.4..0..", "1.4.r.-1..", "1.4.r.x..", "1.4.r.0.x.", "1.4.r.0", "1.4.r.0...", "1.4.r.0..%",
            "1.4.r.0..%4", "1.4.r.0..%zz", "1.4.r.0..%ff", "1.4.r.0..a b", "1.4.r.0..a=b", "1.4.rx.0..", "1.4.rii.0..",
            "1.4.rin.0..", "1.4.rnn.0..", "1.4.n.0..",
            "99999999999999999999.4.r.0..",
            "1.4.r.99999999999999999999..", " 1.4.r.0..", "1.4.r.0..\u{FFFD}", "1.4.r.0..%٣٣", "\u{0}",
        ]
    )
    func `What is not of the form is left out`(text: String) {
        // The one before the comma of the fourth is right.
        let expected = text == "1.4.r.0..," ? 1 : 0
        #expect(PastFault.faults(in: text).count == expected)
        #expect(PastFault.faults(in: "1.4.r.0..ok,\(text),2.4.r.0..ok").filter { $0.label == "ok" }.count == 2)
    }

    @Test func `Too much text, too long a label, or too many faults are not believed`() {
        #expect(PastFault.faults(in: "1.4.r.0.." + String(repeating: "x", count: 97)).isEmpty)
        #expect(PastFault.faults(in: "1.4.r.0..," + String(repeating: ",", count: 1_000_000)).isEmpty)
        let many = (1...100).map { "\($0).4.r.0.." }.joined(separator: ",")
        #expect(PastFault.faults(in: many).map(\.number) == Array(93...100))
    }

    @Test func `Times beyond the calendar become its ends`() {
        let faults = PastFault.faults(in: "1.4.r.\(Int64.max).\(Int64.min).")
        #expect(faults.first?.time == Timestamp(microsecondsSinceEpoch: .max))
        #expect(faults.first?.processStart == Timestamp(microsecondsSinceEpoch: 0))
    }

    @Test func `Random bytes are read without harm`() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("0123456789.,rqst%abcdef-_ =\u{0}\u{FF}ß".unicodeScalars)
        for _ in 0..<2000 {
            var text = ""
            for _ in 0..<Int.random(in: 0...120, using: &generator) {
                text.unicodeScalars.append(alphabet[Int.random(in: 0..<alphabet.count, using: &generator)])
            }
            let faults = PastFault.faults(in: text)
            #expect(faults.count <= 8)
            // What was understood is understood again.
            #expect(PastFault.faults(in: PastFault.text(of: faults)) == faults)
        }
    }
}
