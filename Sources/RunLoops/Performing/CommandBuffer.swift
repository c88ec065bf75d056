/// The commands of a command source, oldest first, and the loops to wake for them.
///
/// Any thread appends; the loops' threads take. A command is removed before its handler runs, so a fault in the handler loses that
/// command only.
final class CommandBuffer<Command: Sendable>: @unchecked Sendable {
    /// The result of appending.
    enum Appended {
        case queued(loops: [HostRunLoop])
        case full
        case closed
    }

    private let lock = CriticalLock()
    private let capacity: Int

    // Protected by `lock`.
    private var incoming: [Command] = []
    /// The oldest commands, in reverse order.
    private var outgoing: [Command] = []
    private var isClosed = false
    private var loops: [HostRunLoop] = []
    /// For each of `loops`, the number of its modes that the source is in.
    private var modeCounts: [Int] = []

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// The number of waiting commands.
    var count: Int { lock.withLock { incoming.count + outgoing.count } }

    /// Appends a command.
    func append(_ command: Command) -> Appended {
        lock.withLock {
            guard !isClosed else { return .closed }
            guard incoming.count + outgoing.count < capacity else { return .full }
            incoming.append(command)
            return .queued(loops: loops)
        }
    }

    /// Takes the oldest command; also returns whether it was the last.
    func takeFirst() -> (command: Command, isLast: Bool)? {
        lock.withLock {
            if outgoing.isEmpty {
                swap(&incoming, &outgoing)
                outgoing.reverse()
            }
            return outgoing.popLast().map { ($0, outgoing.isEmpty && incoming.isEmpty) }
        }
    }

    /// Accepts no more commands, and returns those that wait.
    func close() -> [Command] {
        lock.withLock {
            isClosed = true
            let rest = outgoing.reversed() + incoming
            outgoing = []
            incoming = []
            return rest
        }
    }

    /// Records that the source entered a mode of a loop.
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

    /// Records that the source left a mode of a loop.
    func didLeave(_ loop: HostRunLoop) {
        lock.withLock {
            // The caller keeps the loop alive, so nothing of it is released here.
            guard let index = loops.firstIndex(where: { $0 === loop }) else { return }
            modeCounts[index] -= 1
            guard modeCounts[index] == 0 else { return }
            loops.remove(at: index)
            modeCounts.remove(at: index)
        }
    }
}
