import LinuxSystem
import Synchronization

/// Taking a snapshot: under the loop's lock, so that it is of one moment.
extension HostRunLoop {
    /// Describes the loop and everything in it at this moment.
    ///
    /// Callable from any thread, also while the loop runs. The cost grows with the number of items, and the loop cannot add
    /// or remove anything meanwhile: a tool for looking, not for every pass.
    ///
    /// - Returns: The description.
    public func snapshot() -> Snapshot {
        lock.withLock {
            Snapshot(
                date: .now,
                address: unsafe UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()),
                isMain: isMain,
                wakeDescriptor: descriptors.present?.wake.rawValue ?? -1,
                isWakeUpPending: wakeState.isPending,
                ignoresWakeUps: wakeState.isIgnoring,
                isWaiting: isWaiting,
                isStopped: isStopped.load(ordering: .acquiring),
                currentMode: runningMode?.name,
                nesting: nesting,
                passCount: passCount,
                commonModes: commonModes.sorted { $0.rawValue < $1.rawValue },
                commonItems: commonItems.sorted { $0.key < $1.key }.map { Snapshot.Item($0.value) },
                modes: modes.values.map(Snapshot.ModeState.init).sorted { $0.name.rawValue < $1.name.rawValue },
                blocks: blocks.map(Snapshot.BlockState.init),
                withdrawn: withdrawals.values.map(Snapshot.WithdrawnState.init)
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
            ports.append(.init(item: .init($0), descriptor: $0.descriptor, interest: $0.interest))
        }
        // With what they are sorted by: a timer that fires, or is about to, has no place in the heap and comes first.
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
