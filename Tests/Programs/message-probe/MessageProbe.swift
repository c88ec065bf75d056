import Foundation
import Glibc
import RunLoops
import SystemPackage

/// The other process of the tests of message ports: it does what the messages on descriptor 3 ask for, and ends with it.
///
/// The types of the messages are in `Request`, which the tests share by name only: numbers on both sides.
@main
enum MessageProbe {
    typealias Message = HostRunLoop.Message
    typealias MessagePort = HostRunLoop.MessagePort
    typealias SendRight = HostRunLoop.SendRight

    enum Request: UInt32 {
        /// Answers with the same payload and descriptors.
        case echo = 1
        /// Writes the payload into the first descriptor.
        case write = 2
        /// Listens at the path that is the payload, and echoes there.
        case listen = 3
        /// Kills itself.
        case die = 4
        /// Reads the first descriptor to its end, and nothing else meanwhile.
        case stall = 5
        /// Sends as many numbered messages to the reply port as the first byte of the payload says.
        case count = 6
        /// Drops the reply port.
        case ignore = 7
        /// Keeps the reply port.
        case keep = 8
        /// Sends a request of its own to the reply port, and its answer to the reply port.
        case askBack = 9
        /// Answers with the number of its open descriptors.
        case countDescriptors = 10
        /// Makes ports and rights of every kind, uses and invalidates them, keeps the rights.
        case exercise = 11
        /// Listens at the path that is the payload, and drops what comes.
        case sink = 12
    }

    nonisolated(unsafe) private static var kept: [SendRight] = []

    static func main() throws {
        let loop = HostRunLoop.current
        let control = try MessagePort(
            label: "control",
            endpoint: .connected(Message.Descriptor(takingOver: FileDescriptor(rawValue: 3))),
            onInvalidate: { exit(0) },
            handler: serve
        )
        try loop.add(control)
        loop.run()
    }

    static func serve(_ message: Message) {
        do {
            try perform(message)
        } catch {
            fatalError("message \(message.type): \(error)")
        }
    }

    static func answer(_ message: Message, _ answer: Message) throws {
        try message.replyPort?.send(answer, within: .seconds(20))
    }

    private static func perform(_ message: Message) throws {
        switch Request(rawValue: message.type) {
        case .echo:
            try answer(message, Message(type: 1, payload: message.payload, descriptors: message.descriptors))
        case .write:
            let count = write(message.descriptors[0].rawValue, message.payload, message.payload.count)
            precondition(count == message.payload.count)
            try answer(message, Message(type: 2))
        case .listen:
            let path = String(decoding: message.payload, as: UTF8.self)
            let port = try MessagePort(label: "listener", endpoint: .listening(.path(path)), handler: serve)
            try HostRunLoop.current.add(port)
            try answer(message, Message(type: 3))
        case .die:
            kill(getpid(), SIGKILL)
        case .stall:
            try answer(message, Message(type: 5))
            var byte: UInt8 = 0
            while read(message.descriptors[0].rawValue, &byte, 1) > 0 {}
        case .count:
            for number in 0..<message.payload[0] {
                try answer(message, Message(type: 6, payload: [number]))
            }
        case .ignore:
            break
        case .keep:
            kept += [message.replyPort].compactMap(\.self)
        case .askBack:
            guard let port = message.replyPort else { return }
            let reply = try port.request(Message(type: 90, payload: message.payload), replyWithin: .seconds(20))
            try port.send(Message(type: 91, payload: reply.payload), within: .seconds(20))
        case .countDescriptors:
            let count = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            try answer(message, Message(type: 10, payload: Array("\(count)".utf8)))
        case .exercise:
            try exercise()
            try answer(message, Message(type: 11))
        case .sink:
            let path = String(decoding: message.payload, as: UTF8.self)
            let port = try MessagePort(label: "sink", endpoint: .listening(.path(path))) { _ in }
            try HostRunLoop.current.add(port)
            try answer(message, Message(type: 12))
        case nil:
            throw HostRunLoop.MessageError(code: .portInvalid)
        }
    }

    private static func exercise() throws {
        let loop = HostRunLoop.current
        for _ in 0..<1000 {
            let port = try MessagePort(label: "exercise") { _ in }
            try loop.add(port, to: "exercise")
            try port.sendRight.send(
                Message(type: 1, descriptors: [.init(duplicating: .standardInput)], replyPort: port.sendRight),
                within: .zero
            )
            kept.append(port.sendRight)
            port.invalidate()
        }
        for number in 0..<100 {
            let (ours, theirs) = try Message.Descriptor.socketPair()
            let port = try MessagePort(label: "exercise", endpoint: .connected(ours)) { _ in }
            let right = try SendRight(sendingOver: theirs)
            try loop.add(port, to: "exercise")
            try right.send(
                Message(
                    type: 1,
                    payload: [UInt8](repeating: 1, count: number * 1000),
                    descriptors: [.init(duplicating: .standardInput)],
                    replyPort: port.sendRight
                ),
                within: .zero
            )
            if number.isMultiple(of: 2) { loop.run(in: "exercise", for: .zero) }
            _ = try? right.request(Message(type: 2), replyWithin: .nanoseconds(1))
            port.invalidate()
        }
        for number in 0..<100 {
            let address = HostRunLoop.SocketAddress.abstract("holdfast-exercise-\(getpid())-\(number)")
            let port = try MessagePort(label: "exercise", endpoint: .listening(address)) { _ in }
            try loop.add(port, to: "exercise")
            let right = try SendRight(connectingTo: address, within: .seconds(20))
            try right.send(Message(type: 1, replyPort: port.sendRight), within: .zero)
            for _ in 0..<(number % 4) { loop.run(in: "exercise", for: .zero) }
            port.invalidate()
        }
    }
}
