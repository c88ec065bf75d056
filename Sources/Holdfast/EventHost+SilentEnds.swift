internal import CrashReports
internal import Symbolication
internal import Synchronization

extension EventHost {
    /// A process of this program that ended and did not say why: it was killed, or left by other means than its host.
    public struct SilentEnd: Sendable, Hashable {
        /// Its process id.
        public let pid: Int
        /// When it started, in seconds since 1970.
        public let started: Double
        /// When one of its loops did something last, in seconds since 1970: it ended later.
        public let lastActive: Double
        /// Whether it called `exit` without closing its host; else it was killed, by SIGKILL for example.
        public let hasExited: Bool
    }

    /// The processes of this program, started with the same arguments, that ended without a word before this one.
    ///
    /// Each is told of once, to the next process with the same store. They are known soon after the start, when the report writer has
    /// seen to what dead processes left, and are in the log then.
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
