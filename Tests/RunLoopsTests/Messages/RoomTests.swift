import Testing

@testable import RunLoops

/// Sending to a port without waiting, and to a port whose loop has ended.
@Suite("Room in a message port", .timeLimit(.minutes(10)))
struct RoomTests {
    private typealias Message = HostRunLoop.Message
    private typealias MessageError = HostRunLoop.MessageError

    @Test("A full port of this process says so at once, and a callout says when there is room")
    func local() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let port = try HostRunLoop.MessagePort(label: "p", capacity: 2) { trace.add("took \($0.type)") }
            let right = port.sendRight
            #expect(try right.sendIfRoom(Message(type: 1)))
            #expect(try right.sendIfRoom(Message(type: 2)))
            #expect(try !right.sendIfRoom(Message(type: 3)))
            let item = try right.whenRoom(on: loop) {
                trace.add("room")
                _ = try? right.sendIfRoom(Message(type: 3))
            }
            let other = try right.whenRoom(on: loop, in: "other", label: "never") { trace.add("never") }
            #expect(item.isValid && item.label == "room" && loop.contains(item, in: .common))
            other.invalidate()
            loop.run(in: .default, for: .zero)
            #expect(trace.entries == [])
            try loop.add(port)
            for _ in 0..<6 { loop.run(in: .default, for: .zero) }
            #expect(!item.isValid)
            // With room from the beginning it is called all the same, and not from within.
            try right.whenRoom(on: loop) { trace.add("at once") }
            trace.add("returned")
            loop.run(in: .default, for: .zero)
            port.invalidate()
            try right.whenRoom(on: loop) { trace.add("gone") }
            loop.run(in: .default, for: .zero)
            #expect(throws: MessageError(code: .portInvalid)) { try right.sendIfRoom(Message(type: 4)) }
            return trace.entries
        }
        #expect(entries == ["took 1", "room", "took 2", "took 3", "returned", "at once", "gone"])
    }

    @Test("Whoever waits for room is told when the port is gone")
    func goneWhileWaiting() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let port = try HostRunLoop.MessagePort(label: "p", capacity: 1) { _ in }
            #expect(try port.sendRight.sendIfRoom(Message(type: 1)))
            try port.sendRight.whenRoom(on: loop) { trace.add("room") }
            port.invalidate()
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["room"])
    }

    @Test("A full socket says so at once, and a callout says when there is room")
    func socket() throws {
        try onNewThread { loop in
            let (ours, theirs) = try Message.Descriptor.socketPair()
            let right = try HostRunLoop.SendRight(sendingOver: ours)
            var sent = 0
            let message = Message(type: 1, payload: [UInt8](repeating: 1, count: 20_000))
            while try right.sendIfRoom(message) { sent += 1 }
            #expect(sent > 0)
            let told = Cell(0)
            try right.whenRoom(on: loop) { told.value += 1 }
            #expect(loop.run(in: .default, for: .zero) == .timedOut)
            #expect(told.value == 0)
            let reader = try HostRunLoop.MessagePort(label: "reader", endpoint: .connected(theirs)) { _ in }
            try loop.add(reader)
            let end = HostRunLoop.Instant.now.advanced(by: .seconds(60))
            while told.value == 0, .now < end {
                loop.run(in: .default, for: .seconds(1), returnAfterSourceHandled: true)
            }
            #expect(told.value == 1)
            #expect(try right.sendIfRoom(message))
            reader.invalidate()
        }
    }

    @Test("A request to a port whose loop ends, or has ended, is not answered, at once")
    func endedLoop() throws {
        let thread = try HostRunLoop.LoopThread(name: "server")
        let isHeld = Latch()
        let told = Cell(0)
        let port = try HostRunLoop.MessagePort(label: "p", onInvalidate: { told.value += 1 }, handler: { _ in })
        try thread.loop.add(port)
        // The request below waits in the queue while the loop ends.
        thread.loop.perform(order: .min) {
            isHeld.wait()
            thread.stop()
        }
        let codes = try onNewThread { loop in
            var codes: [MessageError.Code] = []
            let question = Message(type: 1)
            try port.sendRight.request(question, replyWithin: .seconds(60), on: loop) { answer in
                if case .failure(let error) = answer { told.value += error.code == .noReply ? 10 : 100 }
                loop.stop()
            }
            isHeld.open()
            #expect(loop.run(in: .default, for: .seconds(60)) == .stopped)
            thread.join()
            do throws(MessageError) {
                _ = try port.sendRight.request(question, replyWithin: .seconds(60))
            } catch {
                codes.append(error.code)
            }
            do throws(MessageError) {
                try port.sendRight.send(question, within: .seconds(60))
            } catch {
                codes.append(error.code)
            }
            return codes
        }
        #expect(codes == [.noReply, .portInvalid])
        #expect(told.value == 11)
        #expect(!port.isValid)
    }
}
