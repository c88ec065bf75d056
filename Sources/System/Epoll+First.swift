import CLinuxShims

extension Epoll {
    /// Returns the token of one descriptor of the set that is ready right now; those that are ready take turns.
    ///
    /// The corresponding C function is `epoll_wait`: level-triggered descriptors go to the end of its list when they were
    /// reported.
    ///
    /// - Returns: The token, or `nil` if none is ready.
    public func firstReady() -> UInt64? {
        var event = unsafe epoll_event()
        guard unsafe epoll_wait(rawValue, &event, 1, 0) == 1 else { return nil }
        return unsafe event.data.u64
    }
}
