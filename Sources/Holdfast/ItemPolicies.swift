public import CrashCapture
internal import Logging
public import RunLoops
public import StallDetection
internal import Synchronization

extension HostRunLoop.Item {
    /// Which faults of the item's callouts are resumed; nil for the host's policy (`EventHost.Configuration.recoveryPolicy`).
    ///
    /// It holds at once, and may be set before there is a host. Callable from any thread.
    public final var recoveryPolicy: RecoveryPolicy? {
        get { ItemPolicies.recovery.policy(ofItem: identifiers[0]) }
        set {
            ItemPolicies.note(self)
            for identifier in identifiers { ItemPolicies.recovery.set(newValue, forItem: identifier) }
        }
    }

    /// When the item's callouts are stalls, and whether these have reports; nil for the host's policy.
    ///
    /// Without the host's policy (`EventHost.Configuration.stallPolicy`) nothing is watched. May be set before there is a host. Callable
    /// from any thread.
    public final var stallPolicy: StallPolicy.Item? {
        get { StallPolicyTable.shared.policy(ofItem: identifiers[0]) }
        set {
            ItemPolicies.note(self)
            for identifier in identifiers { StallPolicyTable.shared.set(newValue, forItem: identifier) }
        }
    }

    /// How long a callout of the item may run; nil for the host's deadline (`EventHost.Configuration.calloutDeadline`).
    ///
    /// `CalloutDeadline.never` means no deadline. It holds for items of the main loop and of loops that are watched
    /// (`EventHost.watch(_:rule:)`). The recovery policy, too, says whether a callout may be abandoned. May be set before there is a host.
    /// Callable from any thread.
    public final var calloutDeadline: CalloutDeadline? {
        get { ItemDeadlines.shared.deadline(ofItem: identifiers[0]) }
        set {
            ItemPolicies.note(self)
            for identifier in identifiers { ItemDeadlines.shared.set(newValue, forItem: identifier) }
            ItemPolicies.deadlinesChanged()
        }
    }

    /// Whether the item was taken out of its loop because it faulted too often.
    ///
    /// Callable from any thread.
    public final var isQuarantined: Bool {
        ItemPolicies.withHost { host in identifiers.contains { host.ward.knows($0) } } ?? false
    }

    /// Puts the item back into its loop before its quarantine is over, on probation.
    ///
    /// Callable from any thread.
    ///
    /// - Returns: Whether it was in quarantine.
    @discardableResult
    public final func endQuarantine() -> Bool {
        guard let host = ItemPolicies.withHost({ $0 }) else { return false }
        var wasQuarantined = false
        // Its thread may still be on the way from the callout to the ward.
        for identifier in identifiers
        where host.ward.knows(identifier) && host.supervisor.endQuarantine(ofItem: identifier) {
            host.ward.discharge(identifier)
            wasQuarantined = true
        }
        return wasQuarantined
    }

    /// The identities that faults, stalls and deadlines have for it: several if it consists of other items.
    private var identifiers: [UInt64] { calloutIdentifiers }
}

/// The policies of items, with or without a host.
///
/// They are kept by identity, because the crash thread knows only that of an item. Entries of items that are gone are removed when they
/// might be half of all.
enum ItemPolicies {
    /// The parts of the host that work for items.
    struct Host: Sendable {
        let supervisor: Supervisor
        let ward: QuarantineWard
        let deadlines: DeadlineWatch
        let logger: Logger
    }

    private final class WeakItem: @unchecked Sendable {
        // Written once. The runtime makes reads safe against the end of the item.
        weak var item: HostRunLoop.Item?

        init(_ item: HostRunLoop.Item) { self.item = item }
    }

    private struct Items {
        var all: [UInt64: WeakItem] = [:]
        /// How many entries there may be until those of items that are gone are removed.
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

    /// Tells the host that there are deadlines, once.
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
