internal import LinuxSystem
internal import SystemPackage

/// An estimate of the descriptors that abandoned callouts left open: objects that own one are never released.
///
/// Nobody can ask the kernel who opened a descriptor. So it counts descriptors that were opened since the last fault and that no port
/// source of the main loop watches. Per fault it counts a few at most, because threads of the program open some, too. In all it counts no
/// more than are open now beyond those of the beginning: a descriptor that comes and goes, such as that of a report, is not counted again
/// and again.
struct DescriptorCensus {
    /// No callout is likely to have more open at a time.
    static let mostPerFault = 8

    private var first: Int?
    private var unwatched: Int?
    private var counted = 0

    /// Counts for the first time: faults did not leave these open.
    mutating func begin(open: Int, watched: Int) {
        guard unwatched == nil else { return }
        first = open - watched
        unwatched = first
    }

    /// Counts after a fault; returns how many it may have cost.
    mutating func lost(open: Int, watched: Int) -> Int {
        let now = open - watched
        defer { unwatched = now }
        guard let before = unwatched, let first else { return 0 }
        let lost = max(0, min(now - before, Self.mostPerFault, now - first - counted))
        counted += lost
        return lost
    }

    /// How many descriptors the process has open; nil if that is not known.
    static func openDescriptors() -> Int? {
        // Since Linux 6.2 the size of the folder is their number (fs/proc/fd.c, proc_fd_getattr). To read 10,000 entries took 25 ms.
        if let status = try? FileStatus(of: "/proc/self/fd"), status.size > 0 { return Int(status.size) }
        guard let folder = try? FileDirectory(at: "/proc/self/fd"), let names = try? folder.names() else { return nil }
        // Without the descriptor that reads them.
        return names.count - 1
    }
}
