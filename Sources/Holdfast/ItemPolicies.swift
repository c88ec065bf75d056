public import CrashCapture
internal import Logging
public import RunLoops
public import StallDetection
internal import Synchronization

extension HostRunLoop.Item {
    /// Which faults of its callouts are resumed; nil for the policy of the host (`EventHost.Configuration.recoveryPolicy`).
    ///
    /// It holds at once, and may be set before there is a host. Callable from any thread.
    public final var recoveryPolicy: RecoveryPolicy? {
        get { ItemPolicies.recovery.policy(ofItem: identifiers[0]) }
        set {
            ItemPolicies.note(self)
            for identifier in identifiers { ItemPolicies.recovery.set(newValue, forItem: identifier) }
        }
    }

    /// When its callouts are stalls, and whether those have reports; nil for the policy of the host
    /// (`EventHost.Configuration.stallPolicy`), without which nothing is watched.
    ///
    /// May be set before there is a host. Callable from any thread.
    public final var stallPolicy: StallPolicy.Item? {
        get { StallPolicyTable.shared.policy(ofItem: identifiers[0]) }
        set {
            ItemPolicies.note(self)
            for identifier in identifiers { StallPolicyTable.shared.set(newValue, forItem: identifier) }
        }
    }

    /// How long one of its callouts may run; nil for the deadline of the host (`EventHost.Configuration.calloutDeadline`).
    ///
    /// `CalloutDeadline.never` takes that away. It holds for items of the main loop and of loops that are watched
    /// (`EventHost.watch(_:rule:)`). Whether a callout may be abandoned follows from the recovery policy, too. May be set before there is a
    /// host. Callable from any thread.
    public final var calloutDeadline: CalloutDeadline? {
        get { ItemDeadlines.shared.deadline(ofItem: identifiers[0]) }
        set {
            ItemPolicies.note(self)
            for identifier in identifiers { ItemDeadlines.shared.set(newValue, forItem: identifier) }
            ItemPolicies.deadlinesChanged()
        }
    }

    /// Whether it was taken out of its loop, because it faulted too often.
    ///
    /// Callable from any thread.
    public final var isQuarantined: Bool {
        ItemPolicies.withHost { host in identifiers.contains { host.ward.knows($0) } } ?? false
    }

    /// Puts it back into its loop before its quarantine is over, on probation.
    ///
    /// Callable from any thread.
    ///
    /// - Returns: Whether it was in quarantine.
    @discardableResult
    public final func endQuarantine() -> Bool {
        guard let host = ItemPolicies.withHost({ $0 }) else { return false }
        var wasQuarantined = false
        // Not yet there: its thread is on the way from the callout to the ward.
        for identifier in identifiers
        where host.ward.knows(identifier) && host.supervisor.endQuarantine(ofItem: identifier) {
            host.ward.discharge(identifier)
            wasQuarantined = true
        }
        return wasQuarantined
    }

    /// What faults, stalls and deadlines name it by: more than one where it stands on other items.
    private var identifiers: [UInt64] { calloutIdentifiers }
}

/// The policies of items, which are the same whether there is a host or not.
///
/// They are kept by identity, for that is what the crash thread knows of an item. What items that are gone have left is taken out when it
/// might be half of all.
enum ItemPolicies {
    /// What of the host works for items.
    struct Host: Sendable {
        let supervisor: Supervisor
        let ward: QuarantineWard
        let deadlines: DeadlineWatch
        let logger: Logger
    }

    private final class WeakItem: @unchecked Sendable {
        // Written once; the runtime keeps reads of it apart from its end.
        weak var item: HostRunLoop.Item?

        init(_ item: HostRunLoop.Item) { self.item = item }
    }

    private struct Items {
        var all: [UInt64: WeakItem] = [:]
        /// How many there may be until those that are gone are looked for.
        var limit = 1024
    }

    static let recovery = RecoveryPolicyTable()
    /// Protected by its lock.
    private static let items = Mutex(Items())
    /// Protected by its lock.
    private static let host = Mutex<Host?>(nil)

    static func withHost<Result>(_ body: (Host) -> Result) -> Result? {
        host.withLock { $0 }.map(body)
    }

    static func setHost(_ new: Host?) {
        host.withLock { $0 = new }
        deadlinesChanged()
    }

    /// Has the host keep deadlines from the first one on.
    static func deadlinesChanged() {
        guard let host = host.withLock({ $0 }) else { return }
        do {
            try host.deadlines.begin()
        } catch {
            host.logger.error("the deadlines of callouts are not kept: \(error)")
        }
    }

    /// Notes that an item may have a policy.
    static func note(_ item: HostRunLoop.Item) {
        let identifiers = item.calloutIdentifiers
        let gone = items.withLock { items -> [UInt64] in
            for identifier in identifiers where items.all[identifier] == nil { items.all[identifier] = WeakItem(item) }
            guard items.all.count > items.limit else { return [] }
            let gone = items.all.filter { $0.value.item == nil }.map(\.key)
            for identifier in gone { items.all[identifier] = nil }
            items.limit = max(1024, 2 * items.all.count)
            return gone
        }
        for identifier in gone {
            recovery.set(nil, forItem: identifier)
            StallPolicyTable.shared.set(nil, forItem: identifier)
            ItemDeadlines.shared.set(nil, forItem: identifier)
        }
    }
}
