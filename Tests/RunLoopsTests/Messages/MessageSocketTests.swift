import Glibc
import LinuxSystem
import RecoveryTestSupport
import RunLoops
import SystemPackage
import TestSupport
import Testing

@Suite("Message ports on sockets", .timeLimit(.minutes(10)))
struct MessageSocketTests {
    typealias Message = HostRunLoop.Message
    typealias MessageError = HostRunLoop.MessageError
    typealias MessagePort = HostRunLoop.MessagePort
    typealias SendRight = HostRunLoop.SendRight

    private let folder: TemporaryFolder
    private let path: String
    private var address: HostRunLoop.SocketAddress { .path(path) }

    init() throws {
        folder = try TemporaryFolder()
        path = "\(folder.path)/port"
    }

    private func mode(of path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode : nil
    }

    /// Not at once: a child that another test starts has every descriptor, too, until it executes its program.
    private func waitUntilInvalid(_ rights: [SendRight]) {
        while rights.contains(where: \.isValid) { sched_yield() }
    }

    @Test("What connects twice has two connections, each in order, and the sender is known")
    func connectTwice() throws {
        let address = address
        let trace = try onNewThread { loop in
            let trace = Trace()
            let port = try MessagePort(label: "p", endpoint: .listening(address)) { message in
                trace.add("\(message.type)")
                if message.sender?.processID != getpid() || message.sender?.userID != getuid() { trace.add("who?") }
            }
            try loop.add(port)
            let rights = try (0..<2).map { _ in try SendRight(connectingTo: address, within: .seconds(20)) }
            #expect(rights[0] != rights[1])
            for type in 0..<10 { try rights[type % 2].send(Message(type: UInt32(type)), within: .zero) }
            while trace.entries.count < 10 { loop.run(in: .default, for: .seconds(20), returnAfterSourceHandled: true) }
            port.invalidate()
            waitUntilInvalid(rights)
            #expect(throws: MessageError(code: .portInvalid, underlyingError: .brokenPipe)) {
                try rights[0].send(Message(type: 1), within: .zero)
            }
            return trace
        }
        let types = trace.entries.compactMap(Int.init)
        #expect(types.count == trace.entries.count)
        #expect(types.filter { $0 % 2 == 0 } == [0, 2, 4, 6, 8])
        #expect(types.filter { $0 % 2 == 1 } == [1, 3, 5, 7, 9])
    }

    @Test("The file is the owner's only, is replaced when its listener is dead, and goes with the port")
    func file() throws {
        let port = try MessagePort(label: "p", endpoint: .listening(address)) { _ in }
        #expect(mode(of: path) == S_IFSOCK | 0o600)
        #expect(throws: MessageError(code: .addressInUse, underlyingError: .addressInUse)) {
            try MessagePort(label: "q", endpoint: .listening(address)) { _ in }
        }
        port.invalidate()
        #expect(mode(of: path) == nil)

        // What a process leaves that was killed.
        let dead = socket(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let error = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(dead, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(error == 0)
        close(dead)
        #expect(throws: MessageError(code: .portInvalid, underlyingError: .connectionRefused)) {
            try SendRight(connectingTo: address, within: .seconds(20))
        }
        let next = try MessagePort(label: "q", endpoint: .listening(address)) { _ in }
        #expect(try SendRight(connectingTo: address, within: .seconds(20)).isValid)
        #expect(mode(of: path) == S_IFSOCK | 0o600)
        next.invalidate()
    }

    @Test("Only a socket's file is replaced, and only the port's own file is removed")
    func foreignFile() throws {
        try folder.write("precious", to: "port")
        #expect(throws: MessageError(code: .addressInUse, underlyingError: .addressInUse)) {
            try MessagePort(label: "p", endpoint: .listening(address)) { _ in }
        }
        #expect(mode(of: path).map { $0 & S_IFMT } == S_IFREG)
        unlink(path)
        let port = try MessagePort(label: "p", endpoint: .listening(address)) { _ in }
        unlink(path)
        try folder.write("precious", to: "port")
        port.invalidate()
        #expect(mode(of: path).map { $0 & S_IFMT } == S_IFREG)
    }

    @Test("An address that is none, and a descriptor that is no socket, are refused with a clear error")
    func refused() throws {
        for path in [String(repeating: "x", count: 108), ""] {
            #expect(throws: MessageError(code: .addressInvalid)) {
                try MessagePort(label: "p", endpoint: .listening(.path(path))) { _ in }
            }
        }
        #expect(throws: MessageError(code: .addressInvalid, underlyingError: .fileNameTooLong)) {
            try SendRight(connectingTo: .abstract(String(repeating: "x", count: 108)), within: .zero)
        }
        #expect(throws: MessageError(code: .portInvalid, underlyingError: .noSuchFileOrDirectory)) {
            try SendRight(connectingTo: address, within: .seconds(1))
        }
        let pipe = TestPipe()
        let descriptor = try Message.Descriptor(duplicating: FileDescriptor(rawValue: pipe.readEnd))
        #expect(throws: MessageError(code: .notASocket)) { try SendRight(sendingOver: descriptor) }
        #expect(throws: MessageError(code: .notASocket)) {
            try MessagePort(label: "p", endpoint: .connected(descriptor)) { _ in }
        }
    }

    @Test("An abstract name works like a path")
    func abstractName() throws {
        let address = HostRunLoop.SocketAddress.abstract("holdfast-\(path)")
        let port = try MessagePort(label: "p", endpoint: .listening(address)) { _ in }
        #expect(try SendRight(connectingTo: address, within: .seconds(20)).isValid)
        #expect(throws: MessageError(code: .addressInUse, underlyingError: .addressInUse)) {
            try MessagePort(label: "q", endpoint: .listening(address)) { _ in }
        }
        port.invalidate()
    }

    @Test("Payloads of every size arrive whole, small ones in the packet and large ones in sealed memory")
    func payloads() throws {
        try onNewThread { loop in
            let (ours, theirs) = try Message.Descriptor.socketPair()
            let received = Cell<Message?>(nil)
            let port = try MessagePort(label: "p", endpoint: .connected(ours)) { received.value = $0 }
            try loop.add(port)
            let right = try SendRight(sendingOver: theirs)
            let pipe = TestPipe()
            let descriptor = try Message.Descriptor(duplicating: FileDescriptor(rawValue: pipe.readEnd))
            for (size, count) in [
                (0, 1), (1, 1), (32 << 10, 1), ((32 << 10) + 1, 1), (1 << 20, Message.descriptorLimit),
                (Message.payloadLimit, 1),
            ] {
                var payload = [UInt8](repeating: 7, count: size)
                for place in stride(from: 0, to: size, by: 1001) { payload[place] = UInt8(truncatingIfNeeded: place) }
                let descriptors = [Message.Descriptor](repeating: descriptor, count: count)
                let message = Message(type: 3, payload: payload, descriptors: descriptors, replyPort: port.sendRight)
                try right.send(message, within: .zero)
                while received.value == nil {
                    loop.run(in: .default, for: .seconds(20), returnAfterSourceHandled: true)
                }
                #expect(received.value?.payload == payload)
                #expect(received.value?.descriptors.count == count)
                #expect(received.value?.replyPort != nil)
                received.value = nil
            }
        }
    }

    @Test("A socket with a small buffer takes a large payload all the same")
    func smallBuffer() throws {
        try onNewThread { loop in
            let (ours, theirs) = try Message.Descriptor.socketPair()
            var size: CInt = 1
            setsockopt(theirs.rawValue, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<CInt>.size))
            let received = Cell(0)
            let port = try MessagePort(label: "p", endpoint: .connected(ours)) { received.value = $0.payload.count }
            try loop.add(port)
            try SendRight(sendingOver: theirs)
                .send(Message(type: 3, payload: [UInt8](repeating: 9, count: 20_000)), within: .zero)
            loop.run(in: .default, for: .seconds(20), returnAfterSourceHandled: true)
            #expect(received.value == 20_000)
        }
    }

    @Test("A port ends with its connection, after everything that was sent, and says so")
    func connectionEnds() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let (ours, theirs) = try Message.Descriptor.socketPair()
            let port = try MessagePort(label: "p", endpoint: .connected(ours), onInvalidate: { trace.add("gone") }) {
                trace.add("\($0.type)")
            }
            try loop.add(port)
            let other = try MessagePort(label: "q", endpoint: .connected(theirs)) { _ in }
            // What stays untaken makes the end a reset.
            try port.peer?.send(Message(type: 9), within: .zero)
            for type: UInt32 in 1...2 { try other.peer?.send(Message(type: type), within: .zero) }
            other.invalidate()
            trace.add("\(loop.run(in: .default, for: .seconds(20)))")
            trace.add("\(port.isValid)")
            return trace.entries
        }
        #expect(entries == ["1", "2", "gone", "finished", "false"])
    }

    @Test("A port takes no more connections than it may have")
    func connectionLimit() throws {
        let address = address
        let entries = try onNewThread { loop in
            let trace = Trace()
            let port = try MessagePort(
                label: "p",
                endpoint: .listening(address),
                connectionLimit: 2,
                onConnectionError: { trace.add("\($0.reason)") },
                handler: { trace.add("\($0.type)") }
            )
            try loop.add(port)
            var rights = try (0..<3).map { _ in try SendRight(connectingTo: address, within: .seconds(20)) }
            for _ in 0..<3 { loop.run(in: .default, for: .zero) }
            waitUntilInvalid([rights[2]])
            trace.add("\(rights.map(\.isValid))")
            rights.removeFirst()
            // Refused as long as such a child has the end that is gone.
            while trace.count("1") == 0 {
                let right = try SendRight(connectingTo: address, within: .seconds(20))
                try? right.send(Message(type: 1), within: .zero)
                while right.isValid && trace.count("1") == 0 { loop.run(in: .default, for: .zero) }
            }
            return trace.entries
        }
        let refused = "\(HostRunLoop.ConnectionError.Reason.tooManyConnections)"
        #expect(entries.prefix(2) == [refused, "[true, true, false]"])
        #expect(entries.dropFirst(2).drop { $0 == refused } == ["1"])
    }

    @Test("A right that came over a connection can be passed on")
    func passedOn() throws {
        try onNewThread { loop in
            let trace = Trace()
            let (ours, theirs) = try Message.Descriptor.socketPair()
            let (second, third) = try Message.Descriptor.socketPair()
            let target = try MessagePort(label: "target") { trace.add("\($0.type)") }
            let middle = try MessagePort(label: "middle", endpoint: .connected(ours)) { message in
                try? SendRight(sendingOver: second).send(Message(type: 2, replyPort: message.replyPort), within: .zero)
            }
            let end = try MessagePort(label: "end", endpoint: .connected(third)) { message in
                try? message.replyPort?.send(Message(type: 3), within: .zero)
            }
            for port in [target, middle, end] { try loop.add(port) }
            try SendRight(sendingOver: theirs).send(Message(type: 1, replyPort: target.sendRight), within: .zero)
            while trace.entries.isEmpty { loop.run(in: .default, for: .seconds(20), returnAfterSourceHandled: true) }
            #expect(trace.entries == ["3"])
        }
    }

    @Test("A handler that faults ends the request over a socket at once, and keeps the connection")
    func faultInHandler() throws {
        let server = try HostRunLoop.LoopThread(name: "server")
        let port = try MessagePort(label: "p", endpoint: .listening(address)) { message in
            let copy = message.replyPort
            withExtendedLifetime(copy) { if message.type == 1 { hf_test_abandon_callout() } }
            try? copy?.send(Message(type: 2), within: .seconds(30))
        }
        try server.loop.add(port)
        let right = try SendRight(connectingTo: address, within: .seconds(20))
        #expect(throws: MessageError(code: .noReply)) { try right.request(Message(type: 1), replyWithin: .seconds(30)) }
        #expect(try right.request(Message(type: 3), replyWithin: .seconds(30)).type == 2)
        port.invalidate()
        server.stop()
    }
}
