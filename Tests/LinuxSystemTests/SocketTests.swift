import Glibc
import LinuxSystem
import SystemPackage
import TestSupport
import Testing

/// Sockets whose messages keep their bounds, carry descriptors, and say who sends.
@Suite(.timeLimit(.minutes(10)))
struct SocketTests {
    private struct Packet {
        let text: String
        let extras: PacketExtras
    }

    private func receive(from number: CInt, size: Int = 1000) throws -> Packet {
        var buffer = [UInt8](repeating: 0, count: size)
        let (count, extras) = try buffer.withUnsafeMutableBytes { try PacketSocket.receive(into: $0, from: number) }
        return Packet(text: String(decoding: buffer[..<count], as: UTF8.self), extras: extras)
    }

    @Test("A packet arrives whole with who sent it, and one that is too long says so")
    func packets() throws {
        let (near, far) = try PacketSocket.pair()
        defer {
            close(near)
            close(far)
        }
        let passed = try EventDescriptor()
        try PacketSocket.send(Array("he".utf8), Array("llo".utf8), descriptors: [passed.rawValue], to: near)
        try PacketSocket.send(Array("second".utf8), [], descriptors: [], to: near)

        let packet = try receive(from: far)
        #expect(packet.text == "hello")
        #expect(!packet.extras.isTruncated)
        #expect(packet.extras.credentials?.process == getpid())
        #expect(packet.extras.credentials?.user == getuid())
        let copy = try #require(packet.extras.descriptors.first)
        #expect(packet.extras.descriptors.count == 1)
        #expect(fcntl(copy, F_GETFD) & FD_CLOEXEC != 0)
        close(copy)

        let short = try receive(from: far, size: 3)
        #expect(short.text == "sec")
        #expect(short.extras.isTruncated)
    }

    @Test("A listener has the credentials of whoever connects, and its file is the user's")
    func listener() throws {
        let folder = try TemporaryFolder()
        let address = UnixSocketAddress.path(FilePath(folder.path + "/socket"))
        let listener = try PacketSocket.listen(at: address)
        #expect(try FileStatus(of: FilePath(folder.path + "/socket")).permissions == 0o600)
        let client = try PacketSocket.connect(to: address, before: .max)
        let server = try PacketSocket.accept(from: listener.rawValue)
        #expect(PacketSocket.isPacketSocket(server.rawValue))
        #expect(!PacketSocket.isPacketSocket(0))
        try PacketSocket.send(Array("hi".utf8), [], descriptors: [], to: client.rawValue)
        #expect(try receive(from: server.rawValue).text == "hi")
    }

    @Test(
        "Names that the kernel cannot take are no addresses",
        arguments: [
            (UnixSocketAddress.path(""), false), (.abstract(""), false), (.abstract("a\0b"), false),
            (.path(FilePath("/" + String(repeating: "a", count: 106))), true),
            (.path(FilePath("/" + String(repeating: "a", count: 107))), false), (.abstract("name"), true),
        ]
    )
    func addresses(address: UnixSocketAddress, isValid: Bool) {
        #expect(address.isValid == isValid)
        if !isValid {
            #expect(throws: Errno.fileNameTooLong) { _ = try PacketSocket.listen(at: address).rawValue }
        }
    }

    @Test("Nobody at an address is an error, and so is one who has no room until the deadline")
    func nobody() throws {
        let folder = try TemporaryFolder()
        let address = UnixSocketAddress.path(FilePath(folder.path + "/none"))
        #expect(throws: Errno.noSuchFileOrDirectory) { _ = try PacketSocket.connect(to: address, before: 0).rawValue }
        let (near, far) = try PacketSocket.pair()
        #expect(PacketSocket.waitForRoom(in: near, before: .max))
        PacketSocket.disconnect(near)
        #expect(throws: Errno.brokenPipe) { try PacketSocket.send([1], [], descriptors: [], to: far) }
        close(near)
        close(far)
    }
}
