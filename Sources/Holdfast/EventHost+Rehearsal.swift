internal import CrashCapture
internal import Glibc
internal import LinuxSystem
internal import RunLoops

/// What a process that stands by does beforehand, while nobody waits for it.
extension EventHost {
    /// Takes something over from itself, and drops it, 200 ms from now: by then it has read its tables, and given the memory back that took.
    ///
    /// What a process does for the first time takes longer: types are made, memory comes from the kernel, and addresses of functions are looked
    /// up. Clients would wait for all of it when this process begins to serve.
    ///
    /// - Parameter mode: The mode in which it waits.
    /// - Returns: What does it, to be invalidated when the wait is over.
    func rehearseTakingOver(in mode: HostRunLoop.Mode) -> HostRunLoop.Timer {
        // The end of a run, too, comes before the first answer.
        _ = loop.run(in: mode, for: .zero)
        // In a callout, whose stack is then there.
        let timer = HostRunLoop.Timer(ofHost: "rehearse", fireAt: .now.advanced(by: .milliseconds(200))) {
            [weak self] _ in
            MainActor.assumeIsolated { self?.rehearse() }
        }
        loop.add(timer, to: mode)
        return timer
    }

    private func rehearse() {
        FreeMemory.reserve(bytes: 64 << 10)
        // A table that is made here would not be known to a restart.
        guard !receivers.isEmpty, kept.tableDescriptor != nil else { return }
        for (name, entry) in SuccessorLink.rehearse(on: loop) {
            let name = KeptDescriptors.reserved + name
            try? kept.keep(entry, as: name)
            _ = try? kept.setState(entry.state, of: name)
            try? kept.remove(name)
            _ = Glibc.close(entry.descriptor)
        }
    }
}
