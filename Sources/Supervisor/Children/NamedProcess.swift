internal import CLinuxShims
internal import Glibc
internal import LinuxSystem
internal import RunLoops
internal import SystemPackage

/// The main process that a program has named (MAINPID of sd_notify(3)): it may be the child of another one, whose end the kernel tells to
/// its parent only.
@MainActor
final class NamedProcess {
    let pid: CInt
    private let descriptor: CInt
    private var source: HostRunLoop.PortSource?

    /// Begins to watch it; nil if there is no such process any more.
    ///
    /// - Parameters:
    ///   - pid: The process.
    ///   - ended: Called once it has ended, if it is no child of ours: of those waitid(2) tells.
    init?(_ pid: CInt, ended: @escaping @MainActor () -> Void) {
        self.pid = pid
        descriptor = hf_pidfd_open(pid)
        guard descriptor >= 0 else { return nil }
        let source = HostRunLoop.PortSource(
            label: "process \(pid)",
            descriptor: FileDescriptor(rawValue: descriptor)
        ) { source, _ in
            source.invalidate()
            if ProcessFields.parent(of: pid) != getpid() { ended() }
        }
        self.source = source
        _ = try? HostRunLoop.main.add(source, to: .common)
    }

    /// Whether it has ended.
    var hasEnded: Bool { Readiness.now(of: descriptor, for: .readable).contains(.readable) }

    /// Sends a signal to it, and to nobody who has got its number since.
    func signal(_ number: CInt) { _ = hf_pidfd_signal(descriptor, number) }

    /// Watches it no more.
    func close() {
        source?.invalidate()
        source = nil
    }

    isolated deinit {
        close()
        _ = Glibc.close(descriptor)
    }
}
