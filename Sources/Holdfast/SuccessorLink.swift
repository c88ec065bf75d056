internal import CrashCapture
internal import Glibc
internal import LinuxSystem
internal import RunLoops
internal import SystemPackage

/// How a process hears, from the supervisor, of the one that takes over from it, and how what is kept moves to that one.
///
/// Each process makes a link and gives the supervisor the other end of it. After an upgrade the supervisor sends the end of the new process to
/// the one before, which sends by it what it keeps, and ends. Of a process that stands by the end comes when it does: the fault handler may
/// need it.
@MainActor
final class SuccessorLink {
    /// Says to the supervisor that the other end comes with the message.
    static let message = "X_HOLDFAST_LINK"
    /// Says that this process hands over and ends: it needs no signal.
    static let answer = "X_HOLDFAST_HANDOVER"
    /// The packet of the supervisor with which the end of the successor comes.
    private static let succession = Array("SUCCESSOR".utf8)
    /// What the packet begins with by which the end of a process comes that stands by: its serial number follows.
    private static let standby = Array("STANDBY ".utf8)
    /// What a process that stood by answers when it has taken what was handed over to it.
    private static let taken = Array("TAKEN".utf8)

    /// Called once, when another process has taken over.
    var succeeded: (@MainActor () -> Void)?
    /// Called with what the process before this one kept: a name, and a descriptor, which is the callee's, with bytes.
    var received: (@MainActor (String, KeptEntry) -> Void)?
    /// Called with the end of a process that stands by and its serial number, -1 and 0 for none.
    ///
    /// The former end is closed afterwards.
    var standbyChanged: (@MainActor (CInt, UInt32) -> Void)?
    /// Called when nobody has the other end any more.
    var ended: (@MainActor () -> Void)?
    /// Called before one of the `ends` is closed while the process goes on.
    var closes: (@MainActor (CInt) -> Void)?
    private(set) var port: HostRunLoop.PortSource?
    /// What is handed over to this process before it serves.
    private var handed: HandedTable?
    /// Leads to the process that stands by; -1 for none.
    private var standbyEnd: CInt = -1
    /// Our end; -1 for none.
    private var own: CInt = -1
    /// The ends of processes before this one that ended while something may have been on its way to them.
    private var former: [CInt: HostRunLoop.PortSource] = [:]
    /// Leads to the process that has taken over; -1 for none.
    private var next: CInt = -1

    /// Whether there is a process to hand over to.
    var hasSuccessor: Bool { next >= 0 }

    /// Whether what is kept can be handed over to a process that stands by.
    var hasStandby: Bool { standbyEnd >= 0 }

    /// Makes the link.
    ///
    /// - Parameter loop: The loop that serves it.
    /// - Returns: The end for the supervisor, which the caller closes; nil without descriptors, or if it was made before.
    func open(on loop: HostRunLoop) -> OwnedDescriptor? {
        guard own < 0, let (first, second) = (try? PacketSocket.pair()) else { return nil }
        own = first
        let port = HostRunLoop.PortSource(ofHost: "link to the next process", descriptor: first) { [weak self] _, _ in
            MainActor.assumeIsolated { _ = self?.receive() }
        }
        self.port = port
        _ = try? loop.add(port, to: .common)
        return OwnedDescriptor(takingOver: second)
    }

    /// The ends by which something may come that others have kept: it would be lost with them.
    var ends: [CInt] { former.keys.sorted() + (own >= 0 ? [own] : []) }

    /// Whether something may come for this process.
    var hasOwn: Bool { own >= 0 }

    /// Whether something may still come for a process before this one.
    var hasFormer: Bool { !former.isEmpty }

    /// Takes what still comes by the end of a process before this one, until nobody has the other one.
    ///
    /// - Parameters:
    ///   - end: That end, from now on the link's.
    ///   - loop: The loop that serves it.
    func goOn(with end: CInt, on loop: HostRunLoop) {
        let port = HostRunLoop.PortSource(ofHost: "link of the process before", descriptor: end) { [weak self] _, _ in
            MainActor.assumeIsolated { _ = self?.receiveFormer(end) }
        }
        former[end] = port
        _ = try? loop.add(port, to: .common)
    }

    private func endFormer(_ end: CInt) {
        guard let port = former.removeValue(forKey: end) else { return }
        port.invalidate()
        closes?(end)
        _ = Glibc.close(end)
    }

    /// Ends the link, with the process.
    func close() {
        closes = nil
        endOwn()
        for end in former.keys { endFormer(end) }
        setStandby(-1, serial: 0)
        if next >= 0 { _ = Glibc.close(next) }
        next = -1
    }

    private func endOwn() {
        port?.invalidate()
        port = nil
        let end = own
        own = -1
        if end >= 0 {
            closes?(end)
            _ = Glibc.close(end)
        }
        drop(handed)
        handed = nil
    }

    private func setStandby(_ end: CInt, serial: UInt32) {
        guard end >= 0 || standbyEnd >= 0 else { return }
        let before = standbyEnd
        standbyEnd = end
        standbyChanged?(end, serial)
        if before >= 0 { _ = Glibc.close(before) }
    }

    private func drop(_ handed: HandedTable?) {
        for (_, entry) in handed?.entries ?? [] { _ = Glibc.close(entry.descriptor) }
    }

    // MARK: Receiving

    /// Takes whatever has been sent.
    func receiveAll() {
        for end in former.keys { while receiveFormer(end) {} }
        while receive() {}
    }

    private struct Packet {
        var bytes: [UInt8]
        var extras: PacketExtras
        /// Nobody has the other end.
        var isEnd: Bool { bytes.isEmpty && extras.descriptors.isEmpty }
    }

    private static func packet(from end: CInt) -> Packet? {
        // What is taken while another thread replaces this process could not be kept, and the next one would not find it. What is taken in the
        // moment in which that begins is lost.
        CrashCapture.awaitRestart()
        // Not an array: clients may wait, and most packets are small.
        return unsafe withUnsafeTemporaryAllocation(byteCount: KeptPacket.sizeLimit, alignment: 1) { buffer in
            unsafe (try? PacketSocket.receive(into: buffer, from: end)).map { count, extras in
                unsafe Packet(bytes: Array(buffer.prefix(count)), extras: extras)
            }
        }
    }

    /// Takes a packet; returns whether there was one.
    private func receive() -> Bool {
        // A port that says that there is something is wrong at times (epoll(7)); the loop asks again.
        guard own >= 0, let packet = Self.packet(from: own) else { return false }
        guard !packet.isEnd else {
            endOwn()
            ended?()
            return false
        }
        take(packet.bytes, packet.extras)
        return true
    }

    /// The same of a process before this one: what else it was told was for that process.
    private func receiveFormer(_ end: CInt) -> Bool {
        guard former[end] != nil, let packet = Self.packet(from: end) else { return false }
        guard !packet.isEnd else {
            endFormer(end)
            return false
        }
        let left = packet.extras.isTruncated ? nil : takeKept(packet.bytes, packet.extras.descriptors)
        for number in left ?? packet.extras.descriptors { _ = Glibc.close(number) }
        return true
    }

    /// Takes what was kept; returns the descriptors that are left, or nil if it is something else.
    private func takeKept(_ bytes: [UInt8], _ descriptors: [CInt]) -> [CInt]? {
        guard let first = descriptors.first,
            let (name, state) = KeptPacket.parse(bytes, state: descriptors.dropFirst().first)
        else { return nil }
        received?(name, KeptEntry(descriptor: first, state: state))
        return Array(descriptors.dropFirst())
    }

    private func take(_ bytes: [UInt8], _ extras: PacketExtras) {
        var left = extras.descriptors
        defer { for number in left { _ = Glibc.close(number) } }
        guard !extras.isTruncated, let first = left.first else { return }
        if bytes == Self.succession {
            guard next < 0 else { return }
            next = left.removeFirst()
            succeeded?()
        } else if bytes.starts(with: Self.standby) {
            let serial = String(validating: bytes.dropFirst(Self.standby.count), as: UTF8.self).flatMap { UInt32($0) }
            guard let serial, serial > 0 else { return }
            left.removeFirst()
            setStandby(first, serial: serial)
        } else if bytes == HandedTable.tableMark {
            // Whoever has begun before has not come to its end.
            drop(handed)
            handed = HandedTable(first)
        } else if bytes.starts(with: HandedTable.slotsMark) {
            left = handed?.take(bytes, left) ?? left
        } else {
            left = takeKept(bytes, left) ?? left
        }
    }

    /// What the process before this one has handed over, now that this one serves: its descriptors belong to the caller.
    func takeHanded() -> HandedTable? {
        receiveAll()
        guard let handed else { return nil }
        self.handed = nil
        // Without the answer the process before waits for a while, and ends then.
        try? PacketSocket.send(Self.taken, [], descriptors: [], to: own)
        return handed
    }

    /// Hands something over to a link of its own, and takes it.
    ///
    /// - Returns: What came of it: its descriptors belong to the caller.
    static func rehearse(on loop: HostRunLoop) -> [(name: String, entry: KeptEntry)] {
        let link = SuccessorLink()
        defer { link.close() }
        guard let end = link.open(on: loop), let table = try? KeptTable() else { return [] }
        // Any descriptor.
        let some = end.rawValue
        try? table.keep(KeptEntry(descriptor: some, state: Array("rehearsal".utf8)), as: "rehearsal")
        table.freeze()
        try? PacketSocket.send(HandedTable.tableMark, [], descriptors: [table.descriptor], to: end.rawValue)
        let slot = [UInt8](repeating: 0, count: MemoryLayout<UInt32>.size)
        try? PacketSocket.send(HandedTable.slotsMark, slot, descriptors: [some], to: end.rawValue)
        return link.takeHanded()?.entries ?? []
    }

    // MARK: Sending

    /// Sends what is kept to the process that has taken over.
    ///
    /// - Parameters:
    ///   - entries: Descriptors that are open, with bytes, by name.
    ///   - limit: How long to wait for room.
    /// - Returns: How many were sent. After one that cannot be sent no other is: the process there has ended.
    func handOver(_ entries: [(name: String, entry: KeptEntry)], within limit: Duration) -> Int {
        guard hasSuccessor else { return 0 }
        let deadline = HostRunLoop.Instant.now.advanced(by: limit).nanoseconds
        for (done, (name, entry)) in entries.enumerated() {
            do {
                try KeptPacket.send(entry, as: name, to: next, before: deadline)
            } catch {
                return done
            }
        }
        return entries.count
    }
}

/// A packet that brings a descriptor, with its name and the bytes of the program that go with it.
///
/// The four letters, the lengths of name and bytes as eight bytes each in the order of the machine, the name, and the bytes. Bytes that are too
/// long for a packet are in the file that comes second.
enum KeptPacket {
    private static let mark = Array("KEPT".utf8)
    private static let headSize = 4 + 8 + 8
    /// How many bytes go with it: half of what a socket takes by default (net.core.wmem_default).
    private static let inlineLimit = 100_000
    /// How long a packet is at most.
    static let sizeLimit = headSize + KeptTable.nameSizeLimit + inlineLimit

    /// Sends one.
    ///
    /// - Parameters:
    ///   - entry: An open descriptor, with bytes.
    ///   - name: Its name.
    ///   - socket: A connected socket.
    ///   - deadline: When to give up waiting for room, in nanoseconds of CLOCK_MONOTONIC.
    /// - Throws: The error of a call; `ETIMEDOUT`.
    static func send(_ entry: KeptEntry, as name: String, to socket: CInt, before deadline: Int64) throws(Errno) {
        let text = Array(name.utf8)
        var head = mark
        for length in [text.count, entry.state.count] {
            unsafe withUnsafeBytes(of: UInt64(length)) { unsafe head.append(contentsOf: $0) }
        }
        head += text
        var descriptors = [entry.descriptor]
        var body = entry.state
        var memory: CInt = -1
        defer { if memory >= 0 { _ = Glibc.close(memory) } }
        if body.count > inlineLimit {
            memory = try SealedMemory.make(body).release()
            descriptors.append(memory)
            body = []
        }
        while true {
            do throws(Errno) {
                return try PacketSocket.send(head, body, descriptors: descriptors, to: socket)
            } catch .wouldBlock {
                guard PacketSocket.waitForRoom(in: socket, before: deadline) else { throw .timedOut }
            } catch .tooManyReferences {
                // More are under way than RLIMIT_NOFILE allows: until the other side has taken some.
                guard MonotonicClock.nanoseconds < deadline else { throw .timedOut }
                Readiness.wait(forAny: [], atMost: 1_000_000)
            }
        }
    }

    /// Reads one.
    ///
    /// - Parameters:
    ///   - bytes: Any bytes.
    ///   - file: The descriptor that came second; nil for none.
    /// - Returns: The name and the bytes that go with it; nil if it is no such packet, or they cannot be read.
    static func parse(_ bytes: [UInt8], state file: CInt?) -> (name: String, state: [UInt8])? {
        guard bytes.count >= headSize, bytes.starts(with: mark) else { return nil }
        let lengths = [4, 12].map { offset in
            unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
        }
        guard lengths[0] <= UInt64(KeptTable.nameSizeLimit), lengths[1] <= UInt64(KeptTable.stateSizeLimit) else {
            return nil
        }
        let (nameLength, stateLength) = (Int(lengths[0]), Int(lengths[1]))
        guard bytes.count >= headSize + nameLength,
            let name = String(validating: bytes[headSize..<headSize + nameLength], as: UTF8.self)
        else { return nil }
        let rest = bytes.dropFirst(headSize + nameLength)
        if let file {
            guard rest.isEmpty, let state = try? SealedMemory.read(file, size: stateLength) else { return nil }
            return (name, state)
        }
        return rest.count == stateLength ? (name, Array(rest)) : nil
    }
}
