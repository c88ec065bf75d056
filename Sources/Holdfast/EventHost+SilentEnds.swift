internal import CrashReports
internal import Symbolication
internal import Synchronization

extension EventHost {
    /// A process of this program that ended without saying why: it was killed, or did not close its host.
    public struct SilentEnd: Sendable, Hashable {
        /// Its process id.
        public let pid: Int
        /// When it started, in seconds since 1970.
        public let started: Double
        /// When one of its loops last did something, in seconds since 1970: it ended later.
        public let lastActive: Double
        /// Whether it called `exit` without closing its host; if not, it was killed, by SIGKILL for example.
        public let hasExited: Bool
    }

    /// The processes of this program, started with the same arguments, that ended without a word before this one.
    ///
    /// Each is told once, to the next process with the same store. They are known soon after the start, when the report writer has looked
    /// at what dead processes left. The log has them, too.
    public var silentEnds: [SilentEnd] {
        writer.silentEnds.withLock { ends in
            ends.map { end in
                SilentEnd(
                    pid: end.process.pid,
                    started: Double(end.process.startTime.microsecondsSinceEpoch) / 1e6,
                    lastActive: Double(end.lastActivity.microsecondsSinceEpoch) / 1e6,
                    hasExited: end.hasExited
                )
            }
        }
    }
}
