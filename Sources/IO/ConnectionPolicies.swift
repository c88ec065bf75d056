public import Holdfast
internal import RunLoops

/// The policies of a connection's callouts, as items of a loop have them.
///
/// Set them in `onConnection`, to have them for all connections of a listener.
extension Connection {
    /// Which faults of its callouts are resumed; nil for the host's policy (`EventHost.Configuration.recoveryPolicy`).
    public var recoveryPolicy: RecoveryPolicy? {
        get { item?.recoveryPolicy }
        set { item?.recoveryPolicy = newValue }
    }

    /// When its callouts are stalls, and whether these have reports; nil for the host's policy.
    public var stallPolicy: StallPolicy.Item? {
        get { item?.stallPolicy }
        set { item?.stallPolicy = newValue }
    }

    /// How long a callout of it may run; nil for the host's deadline (`EventHost.Configuration.calloutDeadline`).
    public var calloutDeadline: CalloutDeadline? {
        get { item?.calloutDeadline }
        set { item?.calloutDeadline = newValue }
    }
}

extension HostRunLoop.Item {
    /// Gives an item that is new the policies of another one.
    func takePolicies(of other: HostRunLoop.Item) {
        if let policy = other.recoveryPolicy { recoveryPolicy = policy }
        if let policy = other.stallPolicy { stallPolicy = policy }
        if let deadline = other.calloutDeadline { calloutDeadline = deadline }
    }
}
