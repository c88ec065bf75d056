import Glibc
import RunLoops
import SystemPackage
import TestSupport

/// A `message-probe`, connected by a pair of sockets; killed and reaped when the test is over.
final class ProbeProcess: Sendable {
    typealias Message = HostRunLoop.Message

    let pid: pid_t
    /// The socket to it.
    let socket: Message.Descriptor

    init() throws {
        let (ours, theirs) = try Message.Descriptor.socketPair()
        socket = ours
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // 3 itself would keep its close-on-exec.
        let number = Message.Descriptor(
            takingOver: FileDescriptor(rawValue: fcntl(theirs.rawValue, F_DUPFD_CLOEXEC, 4))
        )
        posix_spawn_file_actions_adddup2(&actions, number.rawValue, 3)
        var argv: [UnsafeMutablePointer<CChar>?] = [strdup("message-probe"), nil]
        defer { free(argv[0]) }
        var pid = pid_t()
        let error = posix_spawn(&pid, try BuiltProduct.path(of: "message-probe"), &actions, nil, &argv, environ)
        guard error == 0 else { throw Errno(rawValue: error) }
        self.pid = pid
    }

    deinit {
        kill(pid, SIGKILL)
        var status: CInt = 0
        while waitpid(pid, &status, 0) == -1, errno == EINTR {}
    }

    /// The right to send to it.
    func right() throws -> HostRunLoop.SendRight {
        try HostRunLoop.SendRight(sendingOver: socket)
    }

    /// Asks it, and returns the answer.
    @discardableResult
    func ask(
        _ type: UInt32,
        _ payload: [UInt8] = [],
        _ descriptors: [Message.Descriptor] = []
    ) throws -> Message {
        try right().request(
            Message(type: type, payload: payload, descriptors: descriptors),
            replyWithin: .seconds(30)
        )
    }
}
