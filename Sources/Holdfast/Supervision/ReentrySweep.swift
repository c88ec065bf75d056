package import RunLoops

/// The way back after a fault: all modes of the loop in short slices, until a probation passes without another fault.
///
/// It follows the iOS crash handlers that "cycle the modes quickly", with two differences. It skips the name of the common modes and empty
/// modes. And the thread sleeps while no mode has anything to do: without that sleep it would burn a core when every mode is empty.
package struct ReentrySweep: Sendable {
    /// How a sweep ended.
    package enum Result: Sendable, Hashable {
        /// A probation passed without a fault.
        case clean
        /// The caller's `shouldStop` said so.
        case stopped
        /// It did not begin, because the loop was in a run, maybe that of another sweep: it must be asked for again at the top.
        case nested
    }

    /// Which modes a sweep runs.
    package enum Scope: Sendable, Hashable {
        /// All that anything was ever added to: a mode that is not run again could be the one that is broken.
        case allModes
        /// Those that the program has run at least once, or made common: what waits in another one is not served until the
        /// program runs it.
        case usedModes
    }

    /// How long the loop must run without a fault.
    package var probation: Duration
    /// The longest sleep between two rounds.
    package var slice: Duration
    /// Which modes it runs.
    package var scope: Scope

    /// Makes a sweep.
    package init(
        probation: Duration = .milliseconds(100),
        slice: Duration = .milliseconds(20),
        scope: Scope = .allModes
    ) {
        self.probation = probation
        self.slice = slice
        self.scope = scope
    }

    /// Runs the sweep on the loop of the calling thread, outside of any run.
    ///
    /// A fault during the sweep is handled as any other: its message comes in a callout of the sweep, and makes the probation
    /// begin again. An item that is taken out meanwhile is no longer run, and a loop in which nothing is left is clean.
    ///
    /// - Parameters:
    ///   - loop: The loop.
    ///   - faultCount: Says how many faults there were so far; each new one starts the probation again.
    ///   - shouldStop: Asked after each slice.
    /// - Returns: How it ended.
    package func run(
        on loop: HostRunLoop,
        faultCount: () -> Int,
        shouldStop: () -> Bool
    ) -> Result {
        guard loop.nesting == 0 else { return .nested }
        var progress = SweepProgress(probation: probation, faults: faultCount(), now: .now)
        while true {
            let scoped = scope == .allModes ? loop.allModes : loop.usedModes
            let modes = scoped.filter { $0 != .common && !loop.isEmpty($0) }.sorted { $0.rawValue < $1.rawValue }
            for mode in modes {
                _ = loop.run(in: mode, for: .zero)
                if shouldStop() { return .stopped }
            }
            guard let remaining = progress.remaining(faults: faultCount(), now: .now) else { return .clean }
            if modes.isEmpty { return .clean }
            _ = loop.waitUntilAnyModeIsReady(modes, for: min(remaining, slice))
        }
    }
}

/// How far a probation is: a pure count over times that the caller gives.
struct SweepProgress: Sendable {
    private let probation: Duration
    private var faults: Int
    private var end: HostRunLoop.Instant

    init(probation: Duration, faults: Int, now: HostRunLoop.Instant) {
        self.probation = probation
        self.faults = faults
        end = now.advanced(by: probation)
    }

    /// What is left of the probation, nil when it is over; a new fault starts it again.
    mutating func remaining(faults: Int, now: HostRunLoop.Instant) -> Duration? {
        if faults != self.faults {
            self.faults = faults
            end = now.advanced(by: probation)
        }
        return now < end ? now.duration(to: end) : nil
    }
}
