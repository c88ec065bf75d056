import LinuxSystem
import Synchronization

extension HostRunLoop {
    /// The state of a loop at one moment, as plain values, which keep nothing alive.
    public struct Snapshot: Hashable, Sendable {
        /// The moment.
        package let date: Instant
        /// The address of the loop, which tells loops of a process apart.
        package let address: UInt
        /// Whether it is the main thread's loop.
        package let isMain: Bool
        /// The number of the eventfd that wakes it.
        package let wakeDescriptor: CInt
        /// Whether a wake-up was asked for and not served yet.
        package let isWakeUpPending: Bool
        /// Whether wake-ups are dropped now: the loop does not run, or is between its wake and the next pass.
        package let ignoresWakeUps: Bool
        /// Whether the thread sleeps.
        package let isWaiting: Bool
        /// Whether the innermost run was told to stop.
        package let isStopped: Bool
        /// The mode of the innermost run, or `nil` while the loop does not run.
        package let currentMode: Mode?
        /// How many runs are active, one inside the other.
        package let nesting: Int
        /// How many passes were begun in the life of the loop.
        package let passCount: UInt64
        /// The common modes, by name.
        package let commonModes: [Mode]
        /// What was added to the common modes, in the order in which the items were made.
        package let commonItems: [Item]
        /// The modes, by name.
        package let modes: [ModeState]
        /// The blocks that are queued, in their order.
        package let blocks: [BlockState]
        /// The items that were withdrawn or withheld and not put back, in the order in which they were made.
        package let withdrawn: [WithdrawnState]

        /// Which item it is.
        package struct Item: Hashable, Sendable {
            /// What kind of item it is.
            package let kind: CalloutKind
            /// Its identity, unique in the process.
            package let identifier: UInt64
            /// Its label.
            package let label: String
            /// Whether it was not invalidated.
            package let isValid: Bool
        }

        /// One mode.
        package struct ModeState: Hashable, Sendable {
            /// Its name.
            package let name: Mode
            /// The number of the epoll instance in which the loop sleeps in this mode.
            package let epollDescriptor: CInt
            /// Its sources, in the order in which they were made.
            package let sources: [SourceState]
            /// Its port sources, in the order in which they were made.
            package let ports: [PortState]
            /// Its observers, in the order in which they are called.
            package let observers: [ObserverState]
            /// Its timers, in the order in which they fire.
            package let timers: [TimerState]
        }

        /// A source in a mode.
        package struct SourceState: Hashable, Sendable {
            /// Which item it is.
            package let item: Item
            /// Whether it was signalled and not performed since.
            package let isSignalled: Bool
            /// Its place among sources that are signalled together.
            package let order: Int
        }

        /// A port source in a mode.
        package struct PortState: Hashable, Sendable {
            /// Which item it is.
            package let item: Item
            /// The descriptor.
            package let descriptor: CInt
            /// What it waits for.
            package let interest: PortSource.Interest
        }

        /// An observer in a mode.
        package struct ObserverState: Hashable, Sendable {
            /// Which item it is.
            package let item: Item
            /// The stages at which it is called.
            package let activities: Activity
            /// Whether it is called more than once.
            package let repeats: Bool
            /// Its place among observers of the same stage.
            package let order: Int
        }

        /// A timer in a mode.
        package struct TimerState: Hashable, Sendable {
            /// Which item it is.
            package let item: Item
            /// Whether its callout runs now.
            package let isFiring: Bool
            /// The time between two fires; zero for a timer that fires once.
            package let interval: Duration
            /// How late it may fire.
            package let tolerance: Duration
            /// When it fires next.
            package let nextFireDate: Instant
        }

        /// An item that is not served until it is put back.
        package struct WithdrawnState: Hashable, Sendable {
            /// Which item it is.
            package let item: Item
            /// The modes that it would be put back into, by name; `.common` if it was added to the common ones.
            package let modes: [Mode]
            /// Whether it was withheld because of its label when it was added.
            package let isWithheld: Bool
        }

        /// A block that is queued.
        package struct BlockState: Hashable, Sendable {
            /// Its identity, unique in the process.
            package let identifier: UInt64
            /// Its label.
            package let label: String
            /// In which modes it may run, by name.
            package let modes: [Mode]
        }
    }
}

/// Taking a snapshot: under the loop's lock, so that it is of one moment.
extension HostRunLoop {
    /// Describes the loop and everything in it at this moment.
    ///
    /// Callable from any thread, even while the loop runs. The cost grows with the number of items, and the loop cannot add or remove
    /// anything meanwhile: do not call it in every pass.
    ///
    /// - Returns: The description.
    public func snapshot() -> Snapshot {
        lock.withLock {
            Snapshot(
                date: .now,
                address: unsafe UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()),
                isMain: isMain,
                wakeDescriptor: waker.descriptors.present?.wake.rawValue ?? -1,
                isWakeUpPending: waker.state.isPending,
                ignoresWakeUps: waker.state.isIgnoring,
                isWaiting: isWaiting,
                isStopped: runs.isStopped,
                currentMode: runs.mode?.name,
                nesting: nesting,
                passCount: passCount,
                commonModes: modes.commonModes.sorted { $0.rawValue < $1.rawValue },
                commonItems: modes.commonItemsInOrder.map { Snapshot.Item($0.value) },
                modes: modes.all.map(Snapshot.ModeState.init).sorted { $0.name.rawValue < $1.name.rawValue },
                blocks: blocks.entries.map(Snapshot.BlockState.init),
                withdrawn: withdrawals.all.map(Snapshot.WithdrawnState.init)
                    .sorted { $0.item.identifier < $1.item.identifier }
            )
        }
    }
}

extension HostRunLoop.Snapshot.Item {
    fileprivate init(_ item: any LoopItem) {
        self.init(kind: item.kind, identifier: item.identifier, label: item.label, isValid: item.isValid)
    }
}

extension HostRunLoop.Snapshot.WithdrawnState {
    /// Called with the loop's lock held.
    fileprivate init(_ withdrawal: HostRunLoop.Withdrawal) {
        self.init(
            item: .init(withdrawal.item),
            modes: withdrawal.recordedModes.sorted { $0.rawValue < $1.rawValue },
            isWithheld: withdrawal.isWithheld
        )
    }
}

extension HostRunLoop.Snapshot.ModeState {
    /// Called with the loop's lock held.
    fileprivate init(_ mode: LoopMode) {
        var sources: [HostRunLoop.Snapshot.SourceState] = []
        mode.sources.visitAll {
            sources.append(.init(item: .init($0), isSignalled: $0.isSignalled, order: $0.order))
        }
        var ports: [HostRunLoop.Snapshot.PortState] = []
        mode.ports.visitAll {
            ports.append(.init(item: .init($0), descriptor: $0.number, interest: $0.interest))
        }
        // The timers with their sort keys: a timer that fires, or is about to, has no place in the heap and comes first.
        var timers: [(key: TimerHeap<HostRunLoop.Timer>.Key, state: HostRunLoop.Snapshot.TimerState)] = []
        var scheduled: Set<UInt64> = []
        mode.timers.visit(notAfter: .max) { timer, key in
            scheduled.insert(timer.identifier)
            timers.append((key, .init(timer, isFiring: false)))
            return .max
        }
        mode.timers.visitAll { timer in
            guard !scheduled.contains(timer.identifier) else { return }
            timers.append(
                (.init(deadline: .min, sequence: timer.identifier), .init(timer, isFiring: timer.isBeingCalled))
            )
        }
        self.init(
            name: mode.name,
            epollDescriptor: mode.poller?.epoll.rawValue ?? -1,
            sources: sources.sorted { $0.item.identifier < $1.item.identifier },
            ports: ports.sorted { $0.item.identifier < $1.item.identifier },
            observers: mode.observers.map {
                .init(item: .init($0), activities: $0.activities, repeats: $0.repeats, order: $0.order)
            },
            timers: timers.sorted { $0.key < $1.key }.map(\.state)
        )
    }
}

extension HostRunLoop.Snapshot.TimerState {
    fileprivate init(_ timer: HostRunLoop.Timer, isFiring: Bool) {
        self.init(
            item: .init(timer),
            isFiring: isFiring,
            interval: timer.interval,
            tolerance: timer.tolerance,
            nextFireDate: timer.nextFireDate
        )
    }
}

extension HostRunLoop.Snapshot.BlockState {
    fileprivate init(_ entry: BlockEntry) {
        switch entry {
        case .plain(let block):
            // It gets its identity when it is called.
            self.init(identifier: 0, label: PlainBlock.label, modes: [block.isForCommonModes ? .common : .default])
        case .object(let block):
            self.init(identifier: block.identifier, label: block.name.text, modes: block.modes.names)
        }
    }
}
