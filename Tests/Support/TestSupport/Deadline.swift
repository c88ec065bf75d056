import Glibc

/// A time at which waiting ends in an error.
public struct Deadline: Sendable {
    /// Long enough for anything that a test waits for, on a machine that is busy with other work.
    public static let patience: Duration = .seconds(20)

    private let end: ContinuousClock.Instant
    private let limit: Duration

    /// Begins to count.
    public init(_ limit: Duration = patience) {
        self.limit = limit
        end = .now + limit
    }

    /// Whether the time has passed.
    public var hasPassed: Bool { ContinuousClock.now >= end }

    /// Waits until a descriptor is ready.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor.
    ///   - events: Of poll(2).
    ///   - purpose: What is waited for, for the error.
    /// - Throws: `HarnessError` when the time has passed.
    func wait(for descriptor: CInt, _ events: Int32, _ purpose: String) throws {
        while true {
            let left = max(.zero, ContinuousClock.now.duration(to: end))
            var poll = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            let count = Glibc.poll(&poll, 1, CInt(clamping: Int64((left / .milliseconds(1)).rounded(.up))))
            if count > 0 { return }
            if count < 0, errno != EINTR { throw HarnessError(call: "poll", code: errno) }
            if count == 0, hasPassed { throw HarnessError("nothing within \(limit): \(purpose)") }
        }
    }
}
