import CrashCapture
import Glibc
import LinuxSystem
import SystemPackage
import TestSupport
import Testing

@testable import Holdfast

/// Packets that bring what the process before this one kept.
@Suite struct KeptPacketTests {
    /// The next packet of a socket.
    private static func receive(_ socket: CInt) throws -> ([UInt8], [CInt]) {
        var buffer = [UInt8](repeating: 0, count: KeptPacket.sizeLimit)
        let (count, extras) = try buffer.withUnsafeMutableBytes { bytes in
            try PacketSocket.receive(into: bytes, from: socket)
        }
        #expect(!extras.isTruncated)
        return (Array(buffer.prefix(count)), extras.descriptors)
    }

    @Test(arguments: [0, 1, 99_999, 100_000, 100_001, KeptTable.stateSizeLimit])
    func `What is sent is what comes, whatever its size`(size: Int) throws {
        let (one, other) = try PacketSocket.pair()
        defer { for end in [one, other] { close(end) } }
        let name = String(repeating: "n", count: size == 0 ? 0 : KeptTable.nameSizeLimit)
        let state = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        try KeptPacket.send(KeptEntry(descriptor: one, state: state), as: name, to: one, before: .max)
        let (bytes, descriptors) = try Self.receive(other)
        defer { for descriptor in descriptors { close(descriptor) } }
        #expect(descriptors.count == (size > 100_000 ? 2 : 1))
        let packet = try #require(KeptPacket.parse(bytes, state: descriptors.dropFirst().first))
        #expect(packet.name == name && packet.state == state)
    }

    @Test func `A process that does not read is given up`() throws {
        let (one, other) = try PacketSocket.pair()
        defer { for end in [one, other] { close(end) } }
        let entry = KeptEntry(descriptor: one, state: [UInt8](repeating: 0, count: 50_000))
        #expect(throws: Errno.timedOut) {
            for _ in 0..<10_000 { try KeptPacket.send(entry, as: "n", to: one, before: MonotonicClock.nanoseconds) }
        }
        let (bytes, descriptors) = try Self.receive(other)
        for descriptor in descriptors { close(descriptor) }
        #expect(KeptPacket.parse(bytes, state: nil)?.state.count == 50_000)
    }

    @Test(arguments: 0..<20)
    func `Made-up bytes are no packet, or what they say`(seed: Int) throws {
        var numbers = SplitMix(state: UInt64(seed))
        let (one, other) = try PacketSocket.pair()
        defer { for end in [one, other] { close(end) } }
        try KeptPacket.send(KeptEntry(descriptor: one, state: Array("state".utf8)), as: "name", to: one, before: .max)
        let (whole, descriptors) = try Self.receive(other)
        for descriptor in descriptors { close(descriptor) }
        for count in 0..<whole.count { #expect(KeptPacket.parse(Array(whole.prefix(count)), state: nil) == nil) }
        for _ in 0..<500 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...4, using: &numbers) {
                bytes[Int.random(in: bytes.indices, using: &numbers)] = .random(in: 0...255, using: &numbers)
            }
            // A directory or nothing at all is no memory that somebody has sealed.
            #expect(KeptPacket.parse(bytes, state: one) == nil)
            if let packet = KeptPacket.parse(bytes, state: nil) {
                #expect(packet.name.utf8.count + packet.state.count + 20 == bytes.count)
            }
        }
    }
}
