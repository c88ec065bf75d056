import LinuxSystem
import Synchronization

extension HostRunLoop {
    /// The state of a loop at one moment: plain values, which keep nothing alive.
    public struct Snapshot: Sendable, CustomStringConvertible {
        /// The source of both the JSON and the text, so that they say the same.
        let tree: JSONValue

        /// The snapshot as JSON: one object in one line, with integers of up to 64 bits.
        ///
        /// Times are in nanoseconds. Dates are on the monotonic clock; `firesIn` counts from the date of the snapshot. Characters
        /// that control a terminal or the order of text are escaped.
        public var json: String { tree.text }

        /// The snapshot as text of many lines, in the style of CFRunLoop's description (CFRunLoop.c:903, 1081, 4088, 4465).
        public var description: String {
            var text = ""
            DescriptionText.write(type: "HostRunLoop", tree, depth: 0, to: &text)
            return text
        }
    }

    /// Describes the loop and everything in it at this moment.
    ///
    /// Callable from any thread, even while the loop runs. The cost grows with the number of items, and the loop cannot add or remove
    /// anything meanwhile: do not call it in every pass.
    ///
    /// - Returns: The description.
    public func snapshot() -> Snapshot {
        // Under the lock, so that all values are of the same moment.
        lock.withLock {
            let date = Instant.now
            let address = unsafe UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())
            let modesByName = modes.all.sorted { $0.name.rawValue < $1.name.rawValue }
            var queued: [JSONValue] = []
            _ = blocks.contains {
                queued.append($0.described)
                return false
            }
            let withdrawals = withdrawals.all.sorted { $0.item.identifier < $1.item.identifier }
            return Snapshot(tree: [
                "address": .bits(UInt64(address)),
                "main": .bool(isMain),
                "date": .integer(date.nanoseconds),
                "wakeUpPort": .number(waker.descriptors.present?.wake.rawValue ?? -1),
                "wakeUpPending": .bool(waker.state.isPending),
                "ignoreWakeUps": .bool(waker.state.isIgnoring),
                "waiting": .bool(isWaiting),
                "stopped": .bool(runs.isStopped),
                "currentMode": runs.mode.map { .string($0.name.rawValue) } ?? .null,
                "nesting": .number(nesting),
                "passes": .number(passCount),
                "commonModes": .names(modes.commonModes),
                // In the order in which they were made, like all items except observers and timers.
                "commonModeItems": .array(modes.commonItemsInOrder.map { .item($0.value, withKind: true) }),
                "modes": .array(modesByName.map { $0.described(at: date) }),
                "blockCount": .number(queued.count),
                "blocks": .array(queued),
                "withdrawn": .array(
                    withdrawals.map {
                        .item(
                            $0.item,
                            withKind: true,
                            ["modes": .names($0.recordedModes), "withheld": .bool($0.isWithheld)]
                        )
                    }
                ),
            ])
        }
    }
}

extension LoopMode {
    fileprivate func described(at date: HostRunLoop.Instant) -> JSONValue {
        var sources: [HostRunLoop.Source] = []
        self.sources.visitAll { sources.append($0) }
        var ports: [HostRunLoop.PortSource] = []
        self.ports.visitAll { ports.append($0) }
        return [
            "name": .string(name.rawValue),
            "portSet": .number(poller?.epoll.rawValue ?? -1),
            "sources0": .array(
                sources.sorted { $0.identifier < $1.identifier }.map {
                    .item($0, ["signalled": .bool($0.isSignalled), "order": .number($0.order)])
                }
            ),
            "sources1": .array(
                ports.sorted { $0.identifier < $1.identifier }.map {
                    .item($0, ["descriptor": .number($0.number), "interest": $0.interest.described])
                }
            ),
            // In the order in which they are called.
            "observers": .array(
                observers.map {
                    .item(
                        $0,
                        [
                            "activities": .bits(UInt64($0.activities.rawValue)), "repeats": .bool($0.repeats),
                            "order": .number($0.order),
                        ]
                    )
                }
            ),
            "timers": .array(timersInOrder.map { $0.timer.described(isFiring: $0.isFiring, at: date) }),
        ]
    }

    /// The timers in the order in which they fire.
    ///
    /// One that is firing, or about to, has no place in the heap and comes first.
    private var timersInOrder: [(timer: HostRunLoop.Timer, isFiring: Bool)] {
        var found: [(key: TimerHeap<HostRunLoop.Timer>.Key, timer: HostRunLoop.Timer, isFiring: Bool)] = []
        var scheduled: Set<UInt64> = []
        timers.visit(notAfter: .max) { timer, key in
            scheduled.insert(timer.identifier)
            found.append((key, timer, false))
            return .max
        }
        timers.visitAll { timer in
            guard !scheduled.contains(timer.identifier) else { return }
            found.append((.init(deadline: .min, sequence: timer.identifier), timer, timer.isBeingCalled))
        }
        return found.sorted { $0.key < $1.key }.map { ($0.timer, $0.isFiring) }
    }
}

extension HostRunLoop.Timer {
    fileprivate func described(isFiring: Bool, at date: HostRunLoop.Instant) -> JSONValue {
        let next = nextFireDate
        return .item(
            self,
            [
                "firing": .bool(isFiring),
                "interval": .integer(interval.saturatingNanoseconds),
                "tolerance": .integer(tolerance.saturatingNanoseconds),
                "nextFireDate": .integer(next.nanoseconds),
                "firesIn": .integer(date.duration(to: next).saturatingNanoseconds),
            ]
        )
    }
}

extension BlockEntry {
    fileprivate var described: JSONValue {
        switch self {
        case .plain(let block):
            // A plain block gets its identity when it is called.
            [
                "label": .string(PlainBlock.label), "item": .integer(0),
                "modes": .names([block.isForCommonModes ? .common : .default]),
            ]
        case .object(let block):
            [
                "label": .string(block.name.text), "item": .number(block.identifier),
                "modes": .array(block.modes.names.map { .string($0.rawValue) }),
            ]
        }
    }
}

extension HostRunLoop.PortSource.Interest {
    fileprivate var described: JSONValue {
        let all: [(Self, String)] = [(.readable, "readable"), (.writable, "writable"), (.priority, "priority")]
        return .array(all.filter { contains($0.0) }.map { .string($0.1) })
    }
}

extension JSONValue {
    fileprivate static func number(_ number: some BinaryInteger) -> JSONValue { .integer(Int64(clamping: number)) }

    fileprivate static func names(_ modes: Set<HostRunLoop.Mode>) -> JSONValue {
        .array(modes.map(\.rawValue).sorted().map { .string($0) })
    }

    /// Describes an item: its identity and the values of its kind.
    fileprivate static func item(
        _ item: any LoopItem,
        withKind: Bool = false,
        _ more: KeyValuePairs<String, JSONValue> = [:]
    ) -> JSONValue {
        .object(
            (withKind ? [("kind", .string("\(item.kind)"))] : []) + [
                ("label", .string(item.label)), ("item", .number(item.identifier)), ("valid", .bool(item.isValid)),
            ] + more.map { ($0.key, $0.value) }
        )
    }
}
