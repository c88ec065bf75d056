import Synchronization

/// The commands of a command source, oldest first, and the loops to wake for them.
///
/// Any thread appends; the loops' threads take. A command is removed before its handler runs, so a fault in the handler loses that
/// command only.
@safe
final class CommandBuffer<Command: Sendable>: @unchecked Sendable {
    /// What became of a command.
    enum Appended {
        case queued
        case full
        case closed
    }

    /// What was taken.
    enum Taken {
        case nothing
        case last
        /// One of several that waited.
        case first
    }

    /// Beyond so many places, memory is given back when nothing waits any more.
    private static var usualRoom: Int { 1024 }

    private let lock = CriticalLock()
    private let capacity: Int

    // Protected by `lock`. A ring: `head` is the place of the oldest command, and `room`, a power of two, the number of places.
    private var places: UnsafeMutablePointer<Command>
    private var room = 16
    private var head = 0
    private var waiting = 0
    private var isClosed = false
    private var loops: [HostRunLoop] = []
    /// For each of `loops`, the number of its modes that the source is in.
    private var modeCounts: [Int] = []
    /// How often a command came when none waited: then the loops are woken.
    private var rounds = 0

    /// The round for which some thread has woken all loops.
    private let wokenRound = Atomic<Int>(0)

    init(capacity: Int) {
        self.capacity = capacity
        unsafe places = .allocate(capacity: room)
    }

    deinit {
        while waiting > 0 { _ = unsafe takePlace().move() }
        unsafe places.deallocate()
    }

    /// The number of waiting commands.
    var count: Int { lock.withLock { waiting } }

    /// Appends a command, and tells the loops, unless others wait already: then they know.
    ///
    /// - Parameters:
    ///   - command: The command.
    ///   - signal: Called with the lock held if none waited: so nobody finds a command that no signal tells of.
    ///   - wake: Called for each loop, without the lock.
    /// - Returns: What became of it.
    func append(_ command: __owned Command, signal: () -> Void, wake: (HostRunLoop) -> Void) -> Appended {
        lock.lock()
        guard !isClosed, waiting < capacity else {
            let refusal: Appended = isClosed ? .closed : .full
            // The command is released after this, when the function returns.
            lock.unlock()
            return refusal
        }
        if waiting == room { resize(to: room * 2) }
        unsafe (places + (head &+ waiting) & (room &- 1)).initialize(to: command)
        waiting &+= 1
        if waiting == 1 {
            rounds &+= 1
            signal()
        }
        let round = rounds
        // The thread that sent the first may not have woken the loops yet.
        guard wokenRound.load(ordering: .acquiring) != round else {
            lock.unlock()
            return .queued
        }
        let loops = loops
        lock.unlock()
        for loop in loops { wake(loop) }
        // A later round may be there already: then its next command wakes the loops once more.
        wokenRound.store(round, ordering: .releasing)
        return .queued
    }

    /// Moves the oldest command to a place that the caller provides.
    func take(into place: UnsafeMutablePointer<Command>) -> Taken {
        lock.lock()
        defer { lock.unlock() }
        guard waiting > 0 else { return .nothing }
        unsafe place.initialize(to: takePlace().move())
        guard waiting == 0 else { return .first }
        if room > Self.usualRoom { resize(to: Self.usualRoom) }
        return .last
    }

    /// Accepts no more commands, and returns those that wait.
    func close() -> [Command] {
        lock.withLock {
            isClosed = true
            var rest: [Command] = []
            rest.reserveCapacity(waiting)
            while waiting > 0 { rest.append(unsafe takePlace().move()) }
            return rest
        }
    }

    // MARK: The ring

    private func takePlace() -> UnsafeMutablePointer<Command> {
        let place = unsafe places + head
        head = (head &+ 1) & (room &- 1)
        waiting &-= 1
        return unsafe place
    }

    private func resize(to newRoom: Int) {
        let old = unsafe places
        unsafe places = .allocate(capacity: newRoom)
        let untilEnd = min(waiting, room - head)
        unsafe places.moveInitialize(from: old + head, count: untilEnd)
        unsafe (places + untilEnd).moveInitialize(from: old, count: waiting - untilEnd)
        unsafe old.deallocate()
        (room, head) = (newRoom, 0)
    }

    // MARK: The loops

    /// Calls `body` for each loop but the one of the calling thread, without the lock.
    func visitOtherLoops(_ body: (HostRunLoop) -> Void) {
        let loops = lock.withLock { self.loops.count > 1 ? self.loops : [] }
        for loop in loops where !loop.isCurrent { body(loop) }
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
