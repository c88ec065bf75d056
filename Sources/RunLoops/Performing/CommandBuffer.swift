import CRecoveryPoint
import Synchronization

/// The commands of a command source, oldest first, and the loops to wake for them.
///
/// Any thread appends; the loops' threads take. A command is removed before its handler runs, so a fault in the handler loses that
/// command only. The first loop that has the source draws all that wait at once, and takes them without the lock; others take with it.
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
    /// So many there are at first.
    private static var firstRoom: Int { 16 }

    private let lock = BriefCriticalLock()
    private let capacity: Int

    // Protected by `lock`. A ring: `head` is the place of the oldest command, and `room`, a power of two, the number of places.
    private var places: UnsafeMutablePointer<Command>
    private var room = CommandBuffer.firstRoom
    private var head = 0
    private var waiting = 0
    /// Those that were drawn, and are older than the ring's.
    private let drawn = DrawnPlaces()
    /// The ring in which they are, and its number of places less one; the loop that draws may read them without the lock.
    private var drawnPlaces: UnsafeMutablePointer<Command>?
    private var drawnMask = 0
    /// The loop that draws: the first one that had the source.
    private var drawer: ObjectIdentifier?
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
        while let command = unsafe claim() { unsafe command.deinitialize(count: 1) }
        while waiting > 0 { unsafe takePlace().deinitialize(count: 1) }
        unsafe places.deallocate()
        freeDrawn()
    }

    /// The number of waiting commands.
    var count: Int { lock.withLock { total } }

    /// The same, with the lock.
    private var total: Int { waiting + drawn.count }

    /// Appends a command, and tells the loops, unless others wait already: then they know.
    ///
    /// - Parameters:
    ///   - command: The command.
    ///   - signal: Called with the lock held if none waited: so nobody finds a command that no signal tells of.
    ///   - wake: Called for each loop, without the lock.
    /// - Returns: What became of it.
    func append(_ command: consuming Command, signal: () -> Void, wake: (HostRunLoop) -> Void) -> Appended {
        lock.lock()
        guard !isClosed, waiting < capacity, capacity == .max || total < capacity else {
            let refusal: Appended = isClosed ? .closed : .full
            lock.unlock()
            // Its release may run code of the program.
            withExtendedLifetime(command) {}
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

    /// The place of the oldest command, for the thread of the loop that draws, which takes it out at once; nil if that is not known without the
    /// lock, or if it is the last one: the lock tells that there are no more.
    @inline(__always)
    func takeDrawn() -> UnsafeMutablePointer<Command>? { unsafe drawn.count > 1 ? claim() : nil }

    /// Moves the oldest command to a place that the caller provides.
    ///
    /// - Parameters:
    ///   - place: The place.
    ///   - draws: Whether it is called for the loop that draws (`begin`): then others that wait are drawn.
    /// - Returns: What was taken.
    func take(into place: UnsafeMutablePointer<Command>, draws: Bool) -> Taken {
        lock.lock()
        defer { lock.unlock() }
        if drawn.count == 0, draws, waiting > 1 { draw() }
        if let command = unsafe claim() {
            unsafe place.initialize(to: command.move())
        } else if waiting > 0 {
            unsafe place.initialize(to: takePlace().move())
        } else {
            return .nothing
        }
        guard total == 0 else { return .first }
        if room > Self.usualRoom { resize(to: Self.usualRoom) }
        if draws, drawnMask >= Self.usualRoom { freeDrawn() }
        return .last
    }

    /// The place of the oldest command of those that were drawn; as `DrawnPlaces.claim`.
    @inline(__always)
    private func claim() -> UnsafeMutablePointer<Command>? {
        guard let place = drawn.claim(), let places = unsafe drawnPlaces else { return nil }
        return unsafe places + (place & drawnMask)
    }

    /// Draws all that wait: their ring becomes that of the drawn ones, whose memory is used for those that come.
    private func draw() {
        let (free, freeRoom) = unsafe (drawnPlaces, drawnMask + 1)
        unsafe drawnPlaces = places
        drawnMask = room - 1
        drawn.begin(at: head, count: waiting)
        room = unsafe free == nil ? Self.firstRoom : freeRoom
        unsafe places = free ?? .allocate(capacity: room)
        (head, waiting) = (0, 0)
    }

    private func freeDrawn() {
        unsafe drawnPlaces?.deallocate()
        unsafe drawnPlaces = nil
        drawnMask = 0
    }

    /// How many wait, and whether the loop of the calling thread is the one that draws.
    func begin() -> (waiting: Int, draws: Bool) {
        lock.withLock {
            guard let loop = loops.first else { return (total, false) }
            return (total, ObjectIdentifier(loop) == drawer && loop.isCurrent)
        }
    }

    /// Accepts no more commands, and returns those that wait.
    func close() -> [Command] {
        lock.withLock {
            isClosed = true
            var rest: [Command] = []
            rest.reserveCapacity(total)
            while let command = unsafe claim() { rest.append(unsafe command.move()) }
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
                if drawer == nil { drawer = ObjectIdentifier(loop) }
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
