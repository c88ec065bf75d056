internal import RunLoops

/// A loop that is watched and not kept alive.
final class WeakLoop: @unchecked Sendable {
    // Written once; the runtime keeps reads of it apart from its end.
    weak var value: HostRunLoop?

    init(_ value: HostRunLoop) { self.value = value }
}
