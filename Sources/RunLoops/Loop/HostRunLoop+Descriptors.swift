extension HostRunLoop {
    /// How many descriptors the port sources of the default mode watch.
    ///
    /// Callable from any thread.
    public var watchedDescriptors: Int {
        lock.withLock { modes[.default]?.ports.descriptorCount ?? 0 }
    }
}
