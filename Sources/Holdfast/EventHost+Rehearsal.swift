internal import CrashCapture
internal import Glibc
internal import LinuxSystem
internal import RunLoops

/// What a process that stands by does beforehand, while nobody waits for it.
extension EventHost {
    /// Takes something over from itself, and drops it, a moment from now: when its tables were read, and free memory was given back.
    ///
    /// What a process does for the first time takes longer: types are made, memory comes from the kernel, and addresses of functions are looked
    /// up. Clients would wait for all of it when this process begins to serve.
    func rehearseTakingOver(in mode: HostRunLoop.Mode) {
        // In a callout, whose stack is then there.
        let timer = HostRunLoop.Timer(ofHost: "rehearse", fireAt: .now.advanced(by: .milliseconds(200))) {
            [weak self] _ in
            MainActor.assumeIsolated { self?.rehearse(in: mode) }
        }
        loop.add(timer, to: mode)
    }

    private func rehearse(in mode: HostRunLoop.Mode) {
        // A table that is made here would not be known to a restart.
        guard standby?.isWaiting == true, kept.tableDescriptor != nil else { return }
        FreeMemory.reserve(bytes: 64 << 10)
        for (name, entry) in SuccessorLink.rehearse(on: loop) {
            let name = KeptDescriptors.reserved + name
            try? kept.keep(entry, as: name)
            _ = try? kept.setState(entry.state, of: name)
            try? kept.remove(name)
            _ = Glibc.close(entry.descriptor)
        }
    }
}
