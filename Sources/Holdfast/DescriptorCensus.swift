internal import LinuxSystem
internal import SystemPackage

/// An estimate of the descriptors that abandoned callouts left open: objects that own one are never released.
///
/// Nobody can ask the kernel who opened a descriptor. Counted is what was opened since the fault before and no port source of the main
/// loop watches; at most so many per fault, because threads of the program open some, too, and never more in all than are open now
/// beyond those of the beginning: what comes and goes, such as a report that is being written, is not lost again and again.
struct DescriptorCensus {
    /// More than one callout is likely to have open at a time.
    static let mostPerFault = 8

    private var first: Int?
    private var unwatched: Int?
    private var counted = 0

    /// Counts for the first time: no fault has left open what is open now.
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

    /// How many descriptors the process has open; nil when that cannot be had.
    static func openDescriptors() -> Int? {
        guard let folder = try? FileDirectory(at: "/proc/self/fd"), let names = try? folder.names() else { return nil }
        // Without the one that reads them.
        return names.count - 1
    }
}
