internal import CLinuxShims
internal import Glibc
internal import LinuxSystem
internal import RunLoops
internal import SystemPackage

/// Passes on what a child writes to standard error, and keeps the end of it.
///
/// What our own standard error does not take at the moment stays in the pipe: then the child waits, as it would without us.
@MainActor
final class OutputPassage {
    /// How much of the end is kept.
    nonisolated static let kept = 64 * 1024

    /// The end that the child gets; closed when it was started.
    private(set) var childsEnd: CInt
    private let descriptor: CInt
    private var source: HostRunLoop.PortSource?
    private var room: HostRunLoop.PortSource?
    private var tailBytes: [UInt8] = []
    /// Whether it begins within a line.
    private var isCut = false
    /// What was read, and not written yet.
    private var waiting: ArraySlice<UInt8> = []
    private var isOpen = true
    /// Whether nothing is kept for it any more.
    private var isReleased = false

    /// Makes a pipe.
    ///
    /// - Throws: The error of pipe2(2).
    init() throws(Errno) {
        var ends: [CInt] = [-1, -1]
        try SystemCall.checked { unsafe hf_pipe(&ends) }
        (descriptor, childsEnd) = (ends[0], ends[1])
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    /// Begins to pass on, when the child has its end.
    func begin(label: String) {
        closeChildsEnd()
        let source = HostRunLoop.PortSource(
            label: "\(label) standard error",
            descriptor: FileDescriptor(rawValue: descriptor)
        ) { [self] _, _ in pass() }
        self.source = source
        _ = try? HostRunLoop.main.add(source, to: .common)
    }

    private func closeChildsEnd() {
        guard childsEnd >= 0 else { return }
        _ = close(childsEnd)
        childsEnd = -1
    }

    /// The last of what the child wrote.
    ///
    /// It begins with a line: what is left of one could be a part of a secret that nobody knows as one any more.
    var tail: ArraySlice<UInt8> {
        let tail = tailBytes.suffix(Self.kept)
        guard tail.count < tailBytes.count || isCut, let end = tail.firstIndex(of: UInt8(ascii: "\n")) else {
            return tail
        }
        return tail[(end + 1)...]
    }

    /// Reads what is there now, for the report of a child that has ended.
    func drain() {
        // As much as a pipe holds; others may have it open and go on writing.
        for _ in 0..<16 where isOpen && readOnce() {}
        flush()
    }

    /// Ends the passage.
    func end() {
        guard isOpen else { return }
        isOpen = false
        closeChildsEnd()
        source?.invalidate()
        // What waits is written all the same, when there is room.
        _ = close(descriptor)
    }

    /// The child and its group have ended; others that it has left may have the pipe still.
    func noteOver() {
        // What waits of the last one is kept, so that many do not take more and more.
        if Self.lastOver !== self { Self.lastOver?.release() }
        Self.lastOver = self
    }

    private static weak var lastOver: OutputPassage?

    private func release() {
        isReleased = true
        (waiting, tailBytes) = ([], [])
        room?.invalidate()
        room = nil
        // Else its end would never be seen.
        if isOpen { source?.interest = .readable }
    }

    private func pass() {
        // More only when the last was written.
        guard waiting.isEmpty else {
            source?.interest = []
            return
        }
        _ = readOnce()
        flush()
    }

    /// Returns whether something was read.
    private func readOnce() -> Bool {
        var bytes = [UInt8](repeating: 0, count: 16 * 1024)
        // What is not kept is written at once, or lost.
        let size = isReleased ? 4096 : bytes.count
        let count = unsafe read(descriptor, &bytes, size)
        if count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) { end() }
        guard count > 0 else { return false }
        if isReleased {
            if StandardError.room == .some { _ = StandardError.write(bytes[..<count]) }
            return true
        }
        tailBytes += bytes[..<count]
        if tailBytes.count > 2 * Self.kept {
            tailBytes = Array(tailBytes.suffix(Self.kept))
            isCut = true
        }
        waiting += bytes[..<count]
        return true
    }

    /// Writes what waits, as far as there is room.
    private func flush() {
        loop: while !waiting.isEmpty {
            switch StandardError.room {
            case .some: break
            case .none: break loop
            case .never:
                waiting = []
                break loop
            }
            let count = StandardError.write(waiting.prefix(4096))
            guard count > 0 else {
                if errno == EINTR || errno == EAGAIN { break loop }
                // Nobody reads it any more.
                waiting = []
                break loop
            }
            waiting = waiting.dropFirst(count)
        }
        if waiting.isEmpty {
            waiting = []
            if isOpen { source?.interest = .readable }
        } else {
            waitForRoom()
        }
    }

    private func waitForRoom() {
        source?.interest = []
        guard room == nil else { return }
        let room = HostRunLoop.PortSource(
            label: "room in standard error",
            descriptor: FileDescriptor(rawValue: StandardError.descriptor),
            interest: .writable
        ) { [self] source, _ in
            source.invalidate()
            self.room = nil
            flush()
        }
        do {
            try HostRunLoop.main.add(room, to: .common)
            self.room = room
        } catch {
            // What cannot be polled always has room.
            waiting = []
            if isOpen { source?.interest = .readable }
        }
    }
}
