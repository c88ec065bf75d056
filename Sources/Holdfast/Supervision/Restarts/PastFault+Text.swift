internal import CrashReports

/// The form in the environment: `number.signal.outcome.time.start.label`, joined by `,`.
///
/// Behind the letter of the outcome stand that of the phase, if it is known, and `i` for an item of the start.
/// Times are microseconds since 1970; the label is percent-encoded but for letters, digits, `-` and `_`. The environment is
/// everybody's to write: what is not of this form is left out, and nothing is longer than its limit.
extension PastFault {
    /// How many are carried.
    static let carriedFaults = 8
    /// Bytes of a label that are carried, before they are encoded.
    static let carriedLabel = 96
    /// Bytes of a text that are looked at.
    ///
    /// More than what is written: at most 3 bytes of text for one of a label, 80 for the rest of a fault.
    static let longestText = carriedFaults * (3 * carriedLabel + 80)

    private static let outcomes: [(Outcome, Substring)] = [
        (.resumed, "r"), (.quarantined, "q"), (.restarted, "s"), (.terminated, "t"),
    ]
    private static let phases: [(ProcessPhase, Character)] = [(.starting, "b"), (.running, "n"), (.serving, "v")]

    /// The last faults of a list, as text.
    static func text(of faults: [PastFault]) -> String {
        faults.suffix(carriedFaults).map { $0.fields }.joined(separator: ",")
    }

    private var fields: String {
        var letter = Self.outcomes.first { $0.0 == outcome }.map { String($0.1) } ?? ""
        letter += Self.phases.first { $0.0 == phase }.map { String($0.1) } ?? ""
        if isOfStartItem { letter += "i" }
        let start = processStart.map { "\($0.microsecondsSinceEpoch)" } ?? ""
        return "\(number).\(signal).\(letter).\(time.microsecondsSinceEpoch).\(start).\(Self.encoded(label))"
    }

    /// The faults that a text names, in their order, the last ones if there are too many.
    static func faults(in text: String) -> [PastFault] {
        guard text.utf8.count <= longestText else { return [] }
        let parts = text.split(separator: ",")
        return parts.suffix(carriedFaults).compactMap { PastFault(text: $0) }
    }

    private init?(text: Substring) {
        let fields = text.split(separator: ".", omittingEmptySubsequences: false)
        guard fields.count == 6,
            let number = Int(fields[0]), number > 0, number <= Int(Int32.max),
            // 64 signals: signal(7).
            let signal = CInt(fields[1]), (1...64).contains(signal),
            let outcome = Self.outcomes.first(where: { $0.1 == fields[2].prefix(1) })?.0,
            let time = Int64(fields[3]), time >= 0,
            let label = Self.decoded(fields[5])
        else { return nil }
        var rest = fields[2].dropFirst()
        let phase = rest.first.flatMap { letter in Self.phases.first { $0.1 == letter }?.0 }
        if phase != nil { rest = rest.dropFirst() }
        guard rest.isEmpty || rest == "i" else { return nil }
        let start = fields[4].isEmpty ? nil : Int64(fields[4])
        guard fields[4].isEmpty || start != nil else { return nil }
        self.init(
            number: number,
            signal: signal,
            outcome: outcome,
            label: label,
            time: Timestamp(microsecondsSinceEpoch: time),
            processStart: start.map(Timestamp.init(microsecondsSinceEpoch:)),
            phase: phase,
            isOfStartItem: rest == "i"
        )
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    private static func encoded(_ label: String) -> String {
        var text = ""
        for byte in carried(label).utf8 {
            if isPlain(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }
        return text
    }

    /// A label as it is after the journey: cut at a whole character.
    static func carried(_ label: String) -> String {
        var carried = ""
        var bytes = 0
        for scalar in label.unicodeScalars {
            bytes += String(scalar).utf8.count
            if bytes > carriedLabel { break }
            carried.unicodeScalars.append(scalar)
        }
        return carried
    }

    /// Nil if it is not encoded as it should be, too long, or no UTF-8.
    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            if isPlain(byte) {
                bytes.append(byte)
                continue
            }
            guard byte == UInt8(ascii: "%"), let high = rest.popFirst(), let low = rest.popFirst(),
                let value = hexadecimal(high).flatMap({ high in hexadecimal(low).map { high << 4 | $0 } })
            else { return nil }
            bytes.append(value)
        }
        guard bytes.count <= carriedLabel else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func hexadecimal(_ byte: UInt8) -> UInt8? {
        byte < 128 ? Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init) : nil
    }
}
