internal import CrashCapture
internal import Glibc
internal import Supervision

extension EventHost {
    /// Keeps a descriptor open across restarts in place, under a name: a listening socket, so that its backlog is served by the
    /// next process.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor, or nil to keep none under this name any more.
    ///   - name: A name without `=` and `,`.
    public func keepAcrossRestart(_ descriptor: CInt?, as name: String) {
        precondition(!name.contains { $0 == "=" || $0 == "," }, "a kept descriptor's name has no = and no ,")
        kept[name] = descriptor
        prepareRestart(isHealthy: isHealthy)
    }

    /// The descriptor that the process before this one kept under a name, close-on-exec again; the caller owns it.
    public func keptDescriptor(named name: String) -> CInt? {
        guard let descriptor = history.keptDescriptors[name], fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
            return nil
        }
        return descriptor
    }

    func prepareRestart(isHealthy: Bool) {
        self.isHealthy = isHealthy
        capture.prepareRestart(
            environment: history.environmentForRestart(
                base: ProcessEnvironment.entries,
                isHealthy: isHealthy,
                keeping: kept
            ),
            keeping: Array(kept.values)
        )
    }
}
