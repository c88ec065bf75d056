import FaultInjection
import Glibc
import Holdfast
import SystemPackage

/// A port whose input makes its callout fault again and again: `recovery-probe shared-port STORE KIND`.
@MainActor
enum SharedPortScenarios {
    /// More than an item may have in a minute.
    private static let faults = 7
    private static var count = 0

    /// Faults until the port is in quarantine, or has served all the same.
    static func run(_ store: String, _ arguments: [String]) throws {
        let host = try HostScenario.host(store)
        let serve: @Sendable () -> Void = {
            MainActor.assumeIsolated {
                if count < faults { Fault.nilUnwrap.commit() }
                Probe.say("served after \(count) faults")
                host.stop()
            }
        }
        let send = try add(arguments[0], to: host.loop, serve)
        host.onFault { message in
            count += 1
            if case .quarantined = message.event {
                Probe.say("quarantined after \(count) faults")
                host.stop()
            }
            send()
        }
        host.perform { send() }
        host.run()
        host.close()
    }

    /// Adds the port, and says how to send to it.
    private static func add(
        _ kind: String,
        to loop: HostRunLoop,
        _ serve: @escaping @Sendable () -> Void
    ) throws -> @MainActor () -> Void {
        func addPort(_ descriptor: CInt, taking take: @escaping @Sendable () -> Void) throws {
            let port = HostRunLoop.PortSource(label: kind, descriptor: FileDescriptor(rawValue: descriptor)) { _, _ in
                take()
                serve()
            }
            try loop.add(port, to: .common)
        }
        func addReader(_ descriptor: CInt) throws {
            try addPort(descriptor) {
                var byte: UInt8 = 0
                _ = recv(descriptor, &byte, 1, 0)
            }
        }
        switch kind {
        case "listener":
            let (listener, number) = RestartScenarios.listen()
            try addPort(listener) { _ = accept(listener, nil, nil) }
            return { connect(AF_INET, SOCK_STREAM, to: number) }
        case "packets":
            let name = "holdfast shared port \(getpid())"
            let listener = socket(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue), 0)
            withUnixAddress(name) { precondition(bind(listener, $0, $1) == 0 && listen(listener, 16) == 0) }
            try addPort(listener) { _ = accept(listener, nil, nil) }
            return {
                let client = socket(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue), 0)
                withUnixAddress(name) { precondition(Glibc.connect(client, $0, $1) == 0) }
            }
        case "datagrams":
            let (receiver, number) = bound()
            try addReader(receiver)
            return { connect(AF_INET, SOCK_DGRAM, to: number, sending: true) }
        case "connected-datagrams", "connection":
            var ends: [CInt] = [-1, -1]
            let type = kind == "connection" ? SOCK_STREAM : SOCK_DGRAM
            precondition(socketpair(AF_UNIX, CInt(type.rawValue), 0, &ends) == 0)
            try addReader(ends[0])
            let sender = ends[1]
            return { precondition(send(sender, "x", 1, 0) == 1) }
        case "messages":
            let address = HostRunLoop.SocketAddress.abstract("holdfast shared port \(getpid())")
            let port = try HostRunLoop.MessagePort(label: kind, endpoint: .listening(address)) { _ in serve() }
            try loop.add(port, to: .common)
            return { _ = try? HostRunLoop.SendRight(connectingTo: address, within: .seconds(10)).sendOne() }
        case "own-messages":
            let port = try HostRunLoop.MessagePort(label: kind) { _ in serve() }
            try loop.add(port, to: .common)
            return { try? port.sendRight.sendOne() }
        case "one-peer-messages":
            let (ours, theirs) = try HostRunLoop.Message.Descriptor.socketPair()
            let port = try HostRunLoop.MessagePort(label: kind, endpoint: .connected(ours)) { _ in serve() }
            try loop.add(port, to: .common)
            let right = try HostRunLoop.SendRight(sendingOver: theirs)
            return { try? right.sendOne() }
        default: exit(64)
        }
    }

    /// A datagram socket on the loopback interface.
    static func bound() -> (descriptor: CInt, port: UInt16) {
        let descriptor = socket(AF_INET, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        withAddress(0) { precondition(bind(descriptor, $0, $1) == 0) }
        return (descriptor, RestartScenarios.port(of: descriptor))
    }

    /// Makes a socket, which stays open, and connects it.
    private static func connect(_ family: CInt, _ type: __socket_type, to port: UInt16, sending: Bool = false) {
        let client = socket(family, CInt(type.rawValue), 0)
        withAddress(port) { precondition(Glibc.connect(client, $0, $1) == 0) }
        if sending { precondition(send(client, "x", 1, 0) == 1) }
    }

    private static func withAddress(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Void) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    /// The address of a name without a file.
    private static func withUnixAddress(_ name: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Void) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0[1...].copyBytes(from: name.utf8) }
        let size = MemoryLayout<sa_family_t>.size + 1 + name.utf8.count
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(size)) }
        }
    }
}

extension HostRunLoop.SendRight {
    fileprivate func sendOne() throws {
        try send(HostRunLoop.Message(type: 1, payload: [1]), within: .seconds(10))
    }
}
