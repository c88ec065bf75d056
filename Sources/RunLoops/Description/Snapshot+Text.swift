/// The two ways to write a snapshot. Both are made of the same members, so that they say the same.
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

extension HostRunLoop: CustomStringConvertible, CustomDebugStringConvertible {
    /// The loop at this moment, in one line.
    ///
    /// Callable from any thread.
    public var description: String {
        let mode = currentMode.map { DescriptionText.quoted($0.rawValue) } ?? "(none)"
        return "<HostRunLoop \(isMain ? "main, " : "")current mode = \(mode)>"
    }

    /// The loop and everything in it at this moment, in the manner of CFRunLoop's description.
    ///
    /// Callable from any thread.
    public var debugDescription: String { snapshot().description }
}
