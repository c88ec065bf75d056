/// The two ways to write a snapshot. Both are made from the same members, so that they say the same.
extension HostRunLoop.Snapshot: CustomStringConvertible {
    /// The snapshot as JSON: one object in one line, with integers of up to 64 bits.
    ///
    /// Times are in nanoseconds: dates on the monotonic clock, and `firesIn` from the date of the snapshot. Characters that
    /// control a terminal or the order of text are escaped.
    public var json: String { JSONValue.object(members).text }

    /// The snapshot as text of many lines, in the manner of CFRunLoop's description (CFRunLoop.c:903, 1081, 4088, 4465).
    public var description: String {
        var text = ""
        DescriptionText.write(type: "HostRunLoop", .object(members), depth: 0, to: &text)
        return text
    }

    private var members: [JSONValue.Member] {
        [
            .init("address", .bits(UInt64(address))),
            .init("main", .bool(isMain)),
            .init("date", .integer(date.nanoseconds)),
            .init("wakeUpPort", .integer(Int64(wakeDescriptor))),
            .init("wakeUpPending", .bool(isWakeUpPending)),
            .init("ignoreWakeUps", .bool(ignoresWakeUps)),
            .init("waiting", .bool(isWaiting)),
            .init("stopped", .bool(isStopped)),
            .init("currentMode", currentMode.map { .string($0.rawValue) } ?? .null),
            .init("nesting", .integer(Int64(nesting))),
            .init("passes", .integer(Int64(clamping: passCount))),
            .init("commonModes", .array(commonModes.map { .string($0.rawValue) })),
            .init(
                "commonModeItems",
                .array(commonItems.map { .object($0.membersWithKind) })
            ),
            .init("modes", .array(modes.map { .object($0.members(at: date)) })),
            .init("blockCount", .integer(Int64(blocks.count))),
            .init("blocks", .array(blocks.map { .object($0.members) })),
            .init("withdrawn", .array(withdrawn.map { .object($0.members) })),
        ]
    }
}

extension HostRunLoop.Snapshot.WithdrawnState {
    fileprivate var members: [JSONValue.Member] {
        item.membersWithKind + [
            .init("modes", .array(modes.map { .string($0.rawValue) })),
            .init("withheld", .bool(isWithheld)),
        ]
    }
}

extension HostRunLoop.Snapshot.Item {
    fileprivate var membersWithKind: [JSONValue.Member] { [.init("kind", .string("\(kind)"))] + members }

    fileprivate var members: [JSONValue.Member] {
        [
            .init("label", .string(label)),
            .init("item", .integer(Int64(clamping: identifier))),
            .init("valid", .bool(isValid)),
        ]
    }
}

extension HostRunLoop.Snapshot.ModeState {
    fileprivate func members(at date: HostRunLoop.Instant) -> [JSONValue.Member] {
        [
            .init("name", .string(name.rawValue)),
            .init("portSet", .integer(Int64(epollDescriptor))),
            .init(
                "sources0",
                .array(
                    sources.map {
                        .object(
                            $0.item.members + [
                                .init("signalled", .bool($0.isSignalled)),
                                .init("order", .integer(Int64($0.order))),
                            ]
                        )
                    }
                )
            ),
            .init(
                "sources1",
                .array(
                    ports.map {
                        .object(
                            $0.item.members + [
                                .init("descriptor", .integer(Int64($0.descriptor))),
                                .init("interest", .array($0.interest.names.map { .string($0) })),
                            ]
                        )
                    }
                )
            ),
            .init(
                "observers",
                .array(
                    observers.map {
                        .object(
                            $0.item.members + [
                                .init("activities", .bits(UInt64($0.activities.rawValue))),
                                .init("repeats", .bool($0.repeats)),
                                .init("order", .integer(Int64($0.order))),
                            ]
                        )
                    }
                )
            ),
            .init("timers", .array(timers.map { .object($0.members(at: date)) })),
        ]
    }
}

extension HostRunLoop.Snapshot.TimerState {
    fileprivate func members(at date: HostRunLoop.Instant) -> [JSONValue.Member] {
        item.members + [
            .init("firing", .bool(isFiring)),
            .init("interval", .integer(interval.saturatingNanoseconds)),
            .init("tolerance", .integer(tolerance.saturatingNanoseconds)),
            .init("nextFireDate", .integer(nextFireDate.nanoseconds)),
            .init("firesIn", .integer(date.duration(to: nextFireDate).saturatingNanoseconds)),
        ]
    }
}

extension HostRunLoop.Snapshot.BlockState {
    fileprivate var members: [JSONValue.Member] {
        [
            .init("label", .string(label)),
            .init("item", .integer(Int64(clamping: identifier))),
            .init("modes", .array(modes.map { .string($0.rawValue) })),
        ]
    }
}

extension HostRunLoop.PortSource.Interest {
    /// The names of its elements.
    fileprivate var names: [String] {
        var names: [String] = []
        if contains(.readable) { names.append("readable") }
        if contains(.writable) { names.append("writable") }
        if contains(.priority) { names.append("priority") }
        return names
    }
}

extension HostRunLoop: CustomStringConvertible {
    /// The loop at this moment, in one line.
    ///
    /// Callable from any thread.
    public var description: String {
        let mode = currentMode.map { DescriptionText.quoted($0.rawValue) } ?? "(none)"
        return "<HostRunLoop \(isMain ? "main, " : "")current mode = \(mode)>"
    }
}

/// Writes values in the manner of CFRunLoop's description: `key = value`, an object per line.
enum DescriptionText {
    /// Writes an object with the name of its type.
    static func write(type: String, _ object: JSONValue, depth: Int, to text: inout String) {
        text += "<\(type)>{"
        guard case .object(let members) = object else { return }
        for (index, member) in members.enumerated() {
            if index > 0 { text += "," }
            text += isLong(member.value) || depth == 0 ? lineBreak(depth + 1) : index > 0 ? " " : ""
            text += words(member.name) + " = "
            write(member.value, depth: depth + 1, to: &text)
        }
        text += depth == 0 ? lineBreak(0) + "}" : "}"
    }

    private static func write(_ value: JSONValue, depth: Int, to text: inout String) {
        switch value {
        case .null: text += "(none)"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .bits(let value): text += "0x" + String(value, radix: 16)
        case .string(let value): text += quoted(value)
        case .object: write(type: "item", value, depth: depth, to: &text)
        case .array(let values):
            text += "("
            for (index, value) in values.enumerated() {
                if case .object = value {
                    text += (index > 0 ? "," : "") + lineBreak(depth + 1)
                } else if index > 0 {
                    text += ", "
                }
                write(value, depth: depth + 1, to: &text)
            }
            text += isLong(.array(values)) ? lineBreak(depth) + ")" : ")"
        }
    }

    /// Whether a value takes lines of its own.
    private static func isLong(_ value: JSONValue) -> Bool {
        guard case .array(let values) = value, case .object = values.first else { return false }
        return true
    }

    private static func lineBreak(_ depth: Int) -> String {
        "\n" + String(repeating: "    ", count: depth)
    }

    /// Splits a name such as `nextFireDate` into words.
    private static func words(_ name: String) -> String {
        var words = ""
        for character in name {
            words += character.isUppercase ? " " + character.lowercased() : String(character)
        }
        return words
    }

    /// Returns a string in quotes, in which nothing controls a terminal or the order of text.
    static func quoted(_ string: String) -> String {
        var text = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case _ where scalar.isHostile: text += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}

/// The parts of a description, and how they are written as JSON.
///
/// Foundation's writer cannot be used: a loop does not link Foundation.
indirect enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// Written in hexadecimal digits: JSON has no such numbers, so it is a string there.
    case bits(UInt64)
    case string(String)
    case array([JSONValue])
    /// The members stay in this order.
    case object([Member])

    /// One member of an object.
    struct Member: Hashable, Sendable {
        let name: String
        let value: JSONValue

        init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The value as JSON text in one line.
    ///
    /// Characters that control a terminal or the order of text are escaped.
    var text: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .bits(let value): text += "\"0x\(String(value, radix: 16))\""
        case .string(let value): Self.write(value, to: &text)
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += "," }
                Self.write(member.name, to: &text)
                text += ":"
                member.value.write(to: &text)
            }
            text += "}"
        }
    }

    private static func write(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case _ where scalar.isHostile:
                // RFC 8259: beyond U+FFFF, the two halves of the UTF-16 form.
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}

extension Unicode.Scalar {
    /// Whether it does more than show a glyph: a label may come from anywhere.
    var isHostile: Bool {
        switch properties.generalCategory {
        // C0, DEL and C1; bidirectional overrides, joiners and tags; line and paragraph separators.
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
