import RunLoops
import Synchronization

/// What happened, in order, from any thread.
final class Trace: Sendable {
    private let storage = Mutex<[String]>([])

    func add(_ entry: String) {
        storage.withLock { $0.append(entry) }
    }

    /// Everything so far.
    var entries: [String] { storage.withLock { $0 } }

    /// Everything since the last call.
    func take() -> [String] {
        storage.withLock { entries in
            defer { entries = [] }
            return entries
        }
    }

    /// How often an entry was added.
    func count(_ entry: String) -> Int { entries.count { $0 == entry } }
}

/// A value that closures of one loop's thread share.
final class Cell<Value: Sendable>: Sendable {
    private let storage: Mutex<Value>

    init(_ value: Value) {
        storage = Mutex(value)
    }

    var value: Value {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }
}

extension HostRunLoop.Activity {
    /// A short name for traces.
    var token: String {
        switch self {
        case .entry: "entry"
        case .beforeTimers: "timers?"
        case .beforeSources: "sources?"
        case .beforeWaiting: "sleep"
        case .afterWaiting: "woke"
        case .exit: "exit"
        default: "\(rawValue)"
        }
    }
}

extension HostRunLoop {
    /// Traces every stage of the runs in a mode.
    @discardableResult
    func traceStages(in mode: Mode = .default, _ trace: Trace) -> Observer {
        let observer = Observer(label: "trace", activities: .all) { _, activity in trace.add(activity.token) }
        add(observer, to: mode)
        return observer
    }

    /// Makes a mode that is never empty and never does anything.
    @discardableResult
    func addIdleSource(to mode: Mode = .default) -> Source {
        let source = Source(label: "idle") { _ in }
        add(source, to: mode)
        return source
    }
}
