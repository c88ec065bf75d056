import CLinuxShims
import Glibc
import LinuxSystem
import RunLoops
import SystemPackage
import TestSupport
import Testing

@Suite("Hostile peers of message ports", .timeLimit(.minutes(10)))
struct HostilePeerTests {
    typealias Message = HostRunLoop.Message
    typealias MessagePort = HostRunLoop.MessagePort
    typealias Reason = HostRunLoop.ConnectionError.Reason

    /// The head of a packet, as `MessageFrame` describes it.
    private struct Head {
        var magic: UInt32 = 0x504d_4648
        var version: UInt16 = 1
        var flags: UInt16 = 0
        var type: UInt32 = 1
        var descriptors: UInt32 = 0
        var size: UInt64 = 0
        var reserved: UInt64 = 0

        var bytes: [UInt8] {
            var bytes: [UInt8] = []
            func put(_ value: some FixedWidthInteger) { withUnsafeBytes(of: value) { bytes += $0 } }
            put(magic)
            put(version)
            put(flags)
            put(type)
            put(descriptors)
            put(size)
            put(reserved)
            return bytes
        }
    }

    /// Sends one packet to a port, with the write end of a pipe in it as often as is said; returns what came of it.
    private func result(
        of head: [UInt8],
        _ body: [UInt8] = [],
        pipeEnds: Int = 0,
        _ descriptors: [CInt] = []
    ) throws -> [String] {
        try onNewThread { loop in
            let trace = Trace()
            let (ours, theirs) = try Message.Descriptor.socketPair()
            let (read, write) = try PacketSocket.pair()
            defer { close(read) }
            let port = try MessagePort(
                label: "p",
                endpoint: .connected(ours),
                onConnectionError: { error in
                    trace.add("\(error.reason)")
                    #expect(error.sender?.processID == getpid())
                },
                onInvalidate: { trace.add("gone") },
                handler: { trace.add("message \($0.type)") }
            )
            try loop.add(port)
            let sent = [CInt](repeating: write, count: pipeEnds) + descriptors
            try PacketSocket.send(head, body, descriptors: sent, to: theirs.rawValue)
            close(write)
            loop.run(in: .default, for: .seconds(20), returnAfterSourceHandled: true)
            // Everything that came is closed: nobody holds the other end.
            #expect(isHungUp(read))
            return trace.entries
        }
    }

    /// Waits, as a child that another test starts may have the other end, too, until it executes its program.
    private func isHungUp(_ end: CInt) -> Bool {
        var entry = pollfd(fd: end, events: 0, revents: 0)
        return poll(&entry, 1, 20_000) == 1 && entry.revents & Int16(POLLHUP) != 0
    }

    @Test("An honest packet is a message")
    func honest() throws {
        let head = Head(descriptors: 2, size: 3)
        #expect(try result(of: head.bytes, [1, 2, 3], pipeEnds: 2) == ["message 1"])
    }

    @Test("Whatever is wrong in a packet closes the connection, with the reason, and everything in it")
    func wrongPackets() throws {
        func check(
            _ reason: Reason,
            _ head: [UInt8],
            _ body: [UInt8] = [],
            pipeEnds: Int = 1,
            _ extra: [CInt] = []
        ) throws {
            #expect(try result(of: head, body, pipeEnds: pipeEnds, extra) == ["gone", "\(reason)"])
        }
        try check(.wrongMagic, [1])
        try check(.wrongMagic, Array(Head(descriptors: 1).bytes.dropLast()))
        try check(.wrongMagic, Head(magic: 1, descriptors: 1).bytes)
        try check(.unknownVersion(2), Head(version: 2, descriptors: 1).bytes)
        try check(.unknownFlags, Head(flags: 4, descriptors: 1).bytes)
        try check(.unknownFlags, Head(descriptors: 1, reserved: 1).bytes)
        try check(.wrongLength, Head(descriptors: 1, size: 1).bytes)
        try check(.wrongLength, Head(descriptors: 1).bytes, [1])
        try check(.wrongLength, Head(descriptors: 1, size: .max).bytes)
        try check(.wrongLength, Head(flags: 1, descriptors: 0, size: UInt64(Message.payloadLimit) + 1).bytes)
        try check(.wrongDescriptorCount, Head(descriptors: 0).bytes)
        try check(.wrongDescriptorCount, Head(descriptors: 2).bytes)
        try check(.wrongDescriptorCount, Head(descriptors: .max).bytes)
        try check(.wrongDescriptorCount, Head(flags: 3, descriptors: 0).bytes)
        try check(.wrongDescriptorCount, Head(descriptors: 252).bytes, pipeEnds: 253)
        try check(.truncated, Head(descriptors: 1, size: 100_000).bytes, [UInt8](repeating: 0, count: 100_000))
        // A pipe of packets is a socket of the right kind, but no memory; standard input is neither.
        try check(.payloadNotSealed, Head(flags: 1, size: 0).bytes)
        let pipe = TestPipe()
        try check(.replyPortInvalid, Head(flags: 2, descriptors: 1).bytes, pipeEnds: 0, [pipe.readEnd, pipe.readEnd])
    }

    @Test("Memory is taken for a payload only if it is sealed and has its size")
    func memory() throws {
        let memory = Message.Descriptor(takingOver: FileDescriptor(rawValue: try sealedMemory()))
        #expect(try result(of: Head(flags: 1, size: 3).bytes, [], pipeEnds: 0, [memory.rawValue]) == ["message 1"])
        for size: UInt64 in [0, 2, 4, 1 << 20] {
            let outcome = try result(of: Head(flags: 1, size: size).bytes, [], pipeEnds: 0, [memory.rawValue])
            #expect(outcome == ["gone", "\(Reason.payloadNotSealed)"])
        }
        let folder = try TemporaryFolder()
        let file = open(try folder.write("abc", to: "file"), O_RDWR)
        let unsealed = Message.Descriptor(takingOver: FileDescriptor(rawValue: hf_memory_create()))
        #expect(write(unsealed.rawValue, "abc", 3) == 3)
        for descriptor in [file, unsealed.rawValue] {
            let outcome = try result(of: Head(flags: 1, size: 3).bytes, [], pipeEnds: 0, [descriptor])
            #expect(outcome == ["gone", "\(Reason.payloadNotSealed)"])
        }
        close(file)
    }

    @Test("Thousands of made-up packets neither stop a process nor leave a descriptor in it")
    func fuzz() throws {
        try onNewThread { loop in
            let folder = try TemporaryFolder()
            let probe = try ProbeProcess()
            let address = HostRunLoop.SocketAddress.path("\(folder.path)/port")
            try probe.ask(12, Array("\(folder.path)/port".utf8))
            let before = try probe.ask(10).payload
            var generator = SplitMix(state: 7)
            let memory = Message.Descriptor(takingOver: FileDescriptor(rawValue: try sealedMemory()))
            let pipe = TestPipe()
            let (first, second) = try PacketSocket.pair()
            defer {
                close(first)
                close(second)
            }
            for _ in 0..<3000 {
                let socket = try Message.Descriptor.connect(to: address, within: .seconds(20))
                for _ in 0..<generator.next(below: 3) + 1 {
                    var head = Head(
                        flags: UInt16(generator.next(below: 4)),
                        type: UInt32(generator.next(below: 256)),
                        descriptors: UInt32(generator.next(below: 4)),
                        size: UInt64(generator.next(below: 5))
                    ).bytes
                    if generator.next(below: 2) == 0 {
                        head[generator.next(below: head.count)] = UInt8(generator.next(below: 256))
                    }
                    if generator.next(below: 4) == 0 { head.removeLast(generator.next(below: 32)) }
                    let body = (0..<generator.next(below: 5)).map { _ in UInt8(generator.next(below: 256)) }
                    let descriptors = (0..<generator.next(below: 5)).map { _ in
                        [memory.rawValue, pipe.writeEnd, first, socket.rawValue][generator.next(below: 4)]
                    }
                    // The other side may have closed it because of the packet before.
                    try? PacketSocket.send(head, body, descriptors: descriptors, to: socket.rawValue)
                }
                // The other side has done with the connection when it closes it, too.
                shutdown(socket.rawValue, CInt(SHUT_WR))
                var request = pollfd(fd: socket.rawValue, events: 0, revents: 0)
                try #require(poll(&request, 1, 20_000) == 1)
            }
            #expect(try probe.ask(10).payload == before)
        }
    }

    /// Makes sealed memory of three bytes, which the caller closes.
    private func sealedMemory() throws -> CInt {
        let memory = try SealedMemory.make([1, 2, 3])
        return try Message.Descriptor(duplicating: FileDescriptor(rawValue: memory.rawValue)).duplicate().rawValue
    }

    /// Small random numbers that are the same in every run.
    private struct SplitMix {
        var state: UInt64

        mutating func next(below bound: Int) -> Int {
            state &+= 0x9e37_79b9_7f4a_7c15
            var value = state
            value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
            value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
            return Int((value ^ (value >> 31)) % UInt64(bound))
        }
    }
}
