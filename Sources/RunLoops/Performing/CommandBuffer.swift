/// The commands of a command source, oldest first, and the loops that are to be woken for them.
///
/// Any thread appends; the loops' threads take. A command is out of here before its handler runs: one that faults is gone,
/// and only that one.
final class CommandBuffer<Command: Sendable>: @unchecked Sendable {
    /// What came of appending.
    enum Appended {
        case queued(loops: [HostRunLoop])
        case full
        case closed
    }

    private let lock = CriticalLock()
    private let capacity: Int

    // Protected by `lock`.
    private var incoming: [Command] = []
    /// The oldest commands, last first.
    private var outgoing: [Command] = []
    private var isClosed = false
    private var loops: [HostRunLoop] = []
    /// In how many modes of each of `loops` the source is.
    private var modeCounts: [Int] = []

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// How many commands wait.
    var count: Int { lock.withLock { incoming.count + outgoing.count } }

    /// Puts a command behind all others.
    func append(_ command: Command) -> Appended {
        lock.withLock {
            guard !isClosed else { return .closed }
            guard incoming.count + outgoing.count < capacity else { return .full }
            incoming.append(command)
            return .queued(loops: loops)
        }
    }

    /// Takes the oldest command, and says whether more are left.
    func takeFirst() -> (command: Command, isLast: Bool)? {
        lock.withLock {
            if outgoing.isEmpty {
                swap(&incoming, &outgoing)
                outgoing.reverse()
            }
            return outgoing.popLast().map { ($0, outgoing.isEmpty && incoming.isEmpty) }
        }
    }

    /// Takes no more commands, and returns those that wait.
    func close() -> [Command] {
        lock.withLock {
            isClosed = true
            let rest = outgoing.reversed() + incoming
            outgoing = []
            incoming = []
            return rest
        }
    }

    /// Takes note that the source entered a mode of a loop.
    func didEnter(_ loop: HostRunLoop) {
        lock.withLock {
            if let index = loops.firstIndex(where: { $0 === loop }) {
                modeCounts[index] += 1
            } else {
                loops.append(loop)
                modeCounts.append(1)
            }
        }
    }

    /// Takes note that the source left a mode of a loop.
    func didLeave(_ loop: HostRunLoop) {
        lock.withLock {
            // The caller keeps the loop alive: nothing of it is released here.
            guard let index = loops.firstIndex(where: { $0 === loop }) else { return }
            modeCounts[index] -= 1
            guard modeCounts[index] == 0 else { return }
            loops.remove(at: index)
            modeCounts.remove(at: index)
        }
    }
}
