internal import CrashCapture
internal import CrashReports
public import Logging
internal import Synchronization

/// What the program tells the report of its next fault: notes, annotations and tags.
///
/// All of it is kept in memory that outlives the process, and is read at a fault without a lock. Callable from any thread, but not in a
/// signal handler. Nothing is kept before there is an `EventHost`, nor in a forked child. Texts go through the rules of the host's
/// `PrivacyPolicy` first.
public enum CrashContext {
    /// Values by key: the program's state, or tags by which reports are filtered.
    ///
    /// A value that is being written when the fault comes is left out of its report.
    public struct Values: Sendable {
        let table: CrashNotes.Table

        /// The value of a key, cut as it is kept; nil removes it.
        ///
        /// A key may have 40 bytes, a value 208; the rest is cut. There are 32 annotations and 16 tags: one more is dropped, which
        /// `set(_:for:)` tells.
        public subscript(key: String) -> String? {
            get { CrashNotes.value(for: key, in: table) }
            nonmutating set { set(newValue, for: key) }
        }

        /// Sets a value, or removes it with nil.
        ///
        /// - Returns: Whether it was kept.
        @discardableResult
        public func set(_ value: String?, for key: String) -> Bool {
            let redaction = CrashContext.redaction
            let told = value.map { redaction.isSecretName(key) ? TextRedaction.mark : redaction.redact($0) }
            return CrashNotes.set(told, for: key, in: table)
        }

        /// How many there may be.
        package var capacity: Int { table.capacity }
    }

    /// The program's state in its own words, such as `queue: 17 waiting`.
    public static var annotations: Values { Values(table: .annotations) }

    /// Short values by which reports are filtered, such as `region: eu-1`.
    public static var tags: Values { Values(table: .tags) }

    /// Adds a line to the events before the next fault; the last 64 are kept, up to 224 bytes of each.
    ///
    /// Costs microseconds, most of them for the rules of privacy. Holds no lock, and writes only to memory.
    ///
    /// - Parameters:
    ///   - text: The line.
    ///   - level: Its log level.
    /// - Returns: Whether it was kept.
    @discardableResult
    public static func note(_ text: String, level: Logger.Level = .info) -> Bool {
        CrashNotes.addNote(redaction.redact(text), level: Self.number(of: level))
    }

    private static func number(of level: Logger.Level) -> Int {
        switch level {
        case .trace: 0
        case .debug: 1
        case .info: 2
        case .notice: 3
        case .warning: 4
        case .error: 5
        case .critical: 6
        }
    }

    /// The rules of the host, the default ones until there is one.
    private static let rules = Mutex<TextRedaction>(TextRedaction())

    static var redaction: TextRedaction {
        get { rules.withLock { $0 } }
        set { rules.withLock { $0 = newValue } }
    }
}
