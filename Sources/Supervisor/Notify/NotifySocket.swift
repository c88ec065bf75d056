internal import CLinuxShims
internal import Glibc
internal import LinuxSystem
internal import RunLoops
internal import SystemPackage

/// The socket to which one program says how it is: NOTIFY_SOCKET of sd_notify(3).
///
/// Its name is in the kernel only, so it needs no folder that can be written to.
@MainActor
final class NotifySocket {
    /// The value of NOTIFY_SOCKET.
    let name: String
    private let descriptor: CInt
    private var isOpen = true
    private let receive: @MainActor (NotifyMessage, Sender, [CInt]) -> Void
    private var source: HostRunLoop.PortSource?

    /// Who has sent a message, as the kernel says.
    struct Sender {
        let pid: CInt
        let user: UInt32
    }

    /// The longest message that is taken; systemd takes as much (NOTIFY_BUFFER_MAX of its src/core/manager.c).
    private static let longest = 4096

    /// Opens the socket.
    ///
    /// - Parameters:
    ///   - program: The program.
    ///   - receive: Called for each message, with descriptors that belong to it from then on.
    /// - Throws: The error of a call.
    init(
        for program: String,
        receive: @escaping @MainActor (NotifyMessage, Sender, [CInt]) -> Void
    ) throws(Errno) {
        let kind = CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let opened = OwnedDescriptor(takingOver: try SystemCall.checked { socket(AF_UNIX, kind, 0) })
        PacketSocket.askForCredentials(opened.rawValue)
        let key = String(UInt64.random(in: .min ... .max), radix: 36)
        let bare = "holdfast/notify/\(getpid())/\(key)"
        name = "@\(bare)"
        try UnixSocketAddress.abstract(bare).bind(opened.rawValue)
        descriptor = opened.release()
        let number = descriptor
        let source = HostRunLoop.PortSource(
            label: "\(program) notifies",
            descriptor: FileDescriptor(rawValue: number)
        ) { _, _ in
            // One for each pass: a program that never stops to talk must not keep the others waiting.
            _ = Self.take(from: number, receive)
        }
        self.receive = receive
        self.source = source
        _ = try? HostRunLoop.main.add(source, to: .common)
    }

    /// Ends it: what comes later is lost.
    func close() {
        guard isOpen else { return }
        isOpen = false
        source?.invalidate()
        source = nil
        _ = Glibc.close(descriptor)
    }

    /// Takes what is there now, of a program that has ended.
    func drain() {
        // As many as the kernel lets wait (net.unix.max_dgram_qlen), and more.
        for _ in 0..<1024 where isOpen { if !Self.take(from: descriptor, receive) { return } }
    }

    /// Returns whether there was a message.
    private static func take(
        from number: CInt,
        _ receive: @MainActor (NotifyMessage, Sender, [CInt]) -> Void
    ) -> Bool {
        var bytes = [UInt8](repeating: 0, count: longest)
        let packet = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe try? PacketSocket.receive(into: buffer, from: number)
        }
        guard let (count, extras) = packet else { return false }
        guard let sender = extras.credentials, !extras.isTruncated, count >= 0 else {
            for descriptor in extras.descriptors { _ = Glibc.close(descriptor) }
            return true
        }
        receive(
            NotifyMessage(bytes: bytes[..<min(count, longest)]),
            Sender(pid: sender.process, user: sender.user),
            extras.descriptors
        )
        return true
    }
}
