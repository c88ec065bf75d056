/// A message of sd_notify(3): assignments, a line each.
package struct NotifyMessage: Sendable {
    /// The assignments in their order.
    package private(set) var values: [(key: String, value: String)] = []

    /// Reads a message.
    ///
    /// Lines that are no assignment are left out, as systemd does.
    ///
    /// - Parameter bytes: The datagram.
    package init(bytes: some Sequence<UInt8>) {
        // Both characters end a line there; together they would be one in Swift.
        let text = String(decoding: bytes.map { $0 == 13 ? 10 : $0 }, as: UTF8.self)
        for line in text.split(separator: "\n") {
            guard let sign = line.firstIndex(of: "="), sign != line.startIndex else { continue }
            values.append((String(line[..<sign]), String(line[line.index(after: sign)...])))
        }
    }

    /// The value of a key; the last one counts.
    package subscript(key: String) -> String? { values.last { $0.key == key }?.value }

    /// Whether a key says yes, as `READY=1`.
    package func says(_ key: String) -> Bool { self[key] == "1" }

    /// A number of microseconds; nil if it is none.
    package func microseconds(_ key: String) -> Duration? {
        guard let text = self[key], let number = UInt64(text), number < 1 << 60 else { return nil }
        return .microseconds(Int64(number))
    }

    /// A text that is shown to people: one line, without what a terminal would take as an order, and not long.
    package func line(_ key: String) -> String? {
        self[key].map { text in
            String(
                text.unicodeScalars.prefix(256).map {
                    $0.value < 0x20 || (0x7f...0x9f).contains($0.value) ? "?" : Character($0)
                }
            )
        }
    }
}
