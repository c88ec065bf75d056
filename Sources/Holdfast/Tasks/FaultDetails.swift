internal import CrashCapture
internal import CrashReports
internal import LinuxSystem
internal import Synchronization

/// What the callers of boundaries tell of their faults, until it is in the reports.
///
/// A caller knows who asked and for what, and it is told of the fault after the crash thread has queued the record. So the report writer
/// waits for the caller, for some seconds at most. Faults that are counted in the report of an equal one are listed there, each with its
/// id, whether their callers have told anything or not: the id is what a client was given.
final class FaultDetails: Sendable {
    /// A fault, as its caller has told of it.
    typealias Told = CrashReport.Occurrences.Other

    /// A fault that was counted in the record of an equal one.
    struct Folded: Sendable {
        let number: Int
        let time: Timestamp
    }

    /// What there is for the report of a fault.
    struct Taken {
        var own: Told?
        /// Those that are counted in its record.
        var folded: [Told] = []
        /// Those of them of which nobody has told.
        var untold: [Folded] = []
    }

    private struct State {
        var told: [Int: Told] = [:]
        /// The faults whose records were counted in that of another one.
        var folded: [Int: [Folded]] = [:]
    }

    /// How many are kept of faults that nobody asks for: their reports were written without.
    private static let most = 4096
    /// How long a report waits for a caller, in microseconds: many faults at once keep callers from running.
    private static let patience: Int64 = 5_000_000

    /// Protected by its lock.
    private let state = Mutex(State())
    /// Signalled when a caller has told something.
    let news = Semaphore()

    /// Takes what a caller knows.
    ///
    /// - Parameters:
    ///   - number: Which fault of the process it was.
    ///   - details: The id of its report, its time and its tags.
    func tell(ofFault number: Int, _ details: Told) {
        state.withLock { state in
            if state.told.count >= Self.most { state = State() }
            state.told[number] = details
        }
        news.signal()
    }

    /// Notes that the record of a fault was counted in that of an equal one, which waits for its report.
    func fold(_ fault: Folded, into other: Int) {
        state.withLock { state in
            let own = state.folded.removeValue(forKey: fault.number) ?? []
            state.folded[other, default: []] += [fault] + own
        }
    }

    /// Whether all has come that will come for the report of a fault.
    ///
    /// - Parameters:
    ///   - number: Which fault of the process it was.
    ///   - time: When it was.
    /// - Returns: Whether it has.
    func isComplete(_ number: Int, at time: Timestamp) -> Bool {
        let age = Timestamp.now.microsecondsSinceEpoch &- time.microsecondsSinceEpoch
        // The clock may have been set.
        guard (0..<Self.patience).contains(age) else { return true }
        return state.withLock { state in
            state.told[number] != nil && (state.folded[number] ?? []).allSatisfy { state.told[$0.number] != nil }
        }
    }

    /// Takes out what is known of a fault, and of those that are counted in its record.
    func take(_ number: Int) -> Taken {
        state.withLock { state in
            var taken = Taken(own: state.told.removeValue(forKey: number))
            for fault in state.folded.removeValue(forKey: number) ?? [] {
                if let told = state.told.removeValue(forKey: fault.number) {
                    taken.folded.append(told)
                } else {
                    taken.untold.append(fault)
                }
            }
            return taken
        }
    }

    // MARK: Tags

    /// How many bytes a key and a value may have: the rest is cut.
    private static let mostKeyBytes = 64
    private static let mostValueBytes = 256

    /// What may be told of what a caller knows.
    ///
    /// - Parameters:
    ///   - known: Texts of the program, and so of its clients.
    ///   - redaction: The host's rules.
    /// - Returns: As many as a record has room for, in the order of the keys.
    static func tags(_ known: [String: String], _ redaction: TextRedaction) -> [String: String] {
        var tags: [String: String] = [:]
        var size = 0
        for (key, value) in known.sorted(by: { $0.key < $1.key }) {
            let key = cut(key, mostKeyBytes)
            // Redacted first: a part of a secret does not look like one.
            let told = cut(redaction.isSecretName(key) ? TextRedaction.mark : redaction.redact(value), mostValueBytes)
            size += bytes(of: [key: told]).count
            guard size <= CrashCapture.faultTagsSize else { break }
            tags[key] = told
        }
        return tags
    }

    /// Tags as a record has them.
    static func bytes(of tags: [String: String]) -> [UInt8] {
        tags.flatMap { key, value in Array(key.utf8) + [0] + Array(value.utf8) + [0] }
    }

    /// The beginning of a text, without NULs.
    private static func cut(_ text: String, _ bytes: Int) -> String {
        String(decoding: text.utf8.lazy.filter { $0 != 0 }.prefix(bytes), as: UTF8.self)
    }
}
