import CRecoveryPoint
import Foundation
import Glibc
import RecoveryTestSupport
import RunLoops
import Testing

/// What a loop notes of itself, in memory that somebody else provides.
@Suite("Loop events", .serialized, .timeLimit(.minutes(10)))
struct LoopEventTests {
    /// Rings for all loops of this process from now on; other tests' threads take some, too, so they are never freed, and a
    /// thread has to look at its own before it ends.
    private static let ringCount = 256

    private static func provide() -> UnsafeMutablePointer<HFEventRing> {
        let size = MemoryLayout<HFEventRing>.size * ringCount
        let rings = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 64)
        rings.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        let bound = rings.assumingMemoryBound(to: HFEventRing.self)
        hf_loop_events_provide(bound, UInt32(ringCount))
        return bound
    }

    /// The id of the running thread: `/proc/thread-self` is `PID/task/TID`.
    private static var currentThread: pid_t {
        let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
        return link?.split(separator: "/").last.flatMap { pid_t($0) } ?? 0
    }

    private struct Event: Equatable, Sendable {
        var kind: Int
        var label: String
        var nesting = 1
    }

    /// What is in a ring: the events, the oldest first, their times, and how many there were.
    private struct Events: Sendable {
        var events: [Event] = []
        var times: [Int64] = []
        var count = 0
    }

    /// The running thread's ring.
    private static func ownRing(of rings: UnsafeMutablePointer<HFEventRing>) -> UnsafeMutablePointer<HFEventRing>? {
        let thread = currentThread
        return (0..<ringCount).map { rings + $0 }.first { $0.pointee.owner == thread }
    }

    /// The events of the running thread.
    private static func ownEvents(of rings: UnsafeMutablePointer<HFEventRing>) -> Events {
        guard let ring = ownRing(of: rings) else { return Events() }
        let places = UnsafeRawPointer(ring).advanced(by: 64).assumingMemoryBound(to: HFLoopEvent.self)
        let all = (0..<Int(HF_EVENT_COUNT)).map { places[$0] }.filter { $0.number > 0 }.sorted { $0.number < $1.number }
        let events = all.map { event in
            let isShort = event.kind & UInt32(HF_EVENT_SHORT_LABEL) != 0
            let label = withUnsafeBytes(of: event.label) { bytes in
                String(decoding: bytes.prefix(isShort ? 16 : bytes.count).prefix { $0 != 0 }, as: UTF8.self)
            }
            let kind = Int(event.kind & 0xff)
            return Event(kind: kind, label: kind == HF_EVENT_SLEEP ? "" : label, nesting: Int(event.nesting))
        }
        return Events(events: events, times: all.map(\.time), count: Int(ring.pointee.count))
    }

    @Test("Callouts, runs and sleeps are noted in their order, each with its label")
    func order() throws {
        nonisolated(unsafe) let rings = Self.provide()
        defer { hf_loop_events_provide(nil, 0) }
        let noted = try onNewThread { loop -> Events in
            loop.performWithoutWaking(in: .default, label: "fifteen bytes..") {}
            loop.performWithoutWaking(in: .default, label: "sixteen bytes...") {
                loop.add(HostRunLoop.Source(label: "idle") { _ in }, to: "nested")
                loop.run(in: "nested", for: .zero)
            }
            let pipe = TestPipe()
            try loop.add(pipe.portSource(String(repeating: "long ", count: 20)) { _ in loop.stop() })
            let waker = NewThread { _ in
                waitUntilAsleep(loop)
                pipe.fill()
            }
            loop.run(in: .default, for: .seconds(60))
            try waker.join()
            return Self.ownEvents(of: rings)
        }
        #expect(
            noted.events == [
                Event(kind: 16, label: "default"), Event(kind: 5, label: "fifteen bytes.."),
                Event(kind: 5, label: "sixteen bytes..."), Event(kind: 16, label: "nested", nesting: 2),
                Event(kind: 17, label: "nested", nesting: 2), Event(kind: 18, label: ""),
                Event(kind: 2, label: String(repeating: "long ", count: 8)),
                Event(kind: 17, label: "default"),
            ]
        )
        #expect(noted.count == noted.events.count)
        #expect(noted.times == noted.times.sorted() && noted.times.allSatisfy { $0 > 0 })
    }

    @Test("Of more events than there is room for, the last are there")
    func overflow() throws {
        nonisolated(unsafe) let rings = Self.provide()
        defer { hf_loop_events_provide(nil, 0) }
        let noted = try onNewThread { loop -> Events in
            for number in 1...300 { loop.performWithoutWaking(in: .default, label: "\(number)") {} }
            loop.run(in: .default, for: .zero)
            return Self.ownEvents(of: rings)
        }
        #expect(noted.count == 302)
        #expect(noted.events.count == 128)
        #expect(noted.events.dropLast().map(\.label) == (174...300).map(String.init))
    }

    @Test("Without memory nothing is noted, and a thread that ends gives its ring back")
    func off() throws {
        nonisolated(unsafe) let rings = Self.provide()
        defer { hf_loop_events_provide(nil, 0) }
        let (first, place) = try onNewThread { loop -> (pid_t, Int?) in
            loop.performWithoutWaking(in: .default, label: "x") {}
            loop.run(in: .default, for: .zero)
            #expect(hf_loop_events_are_kept())
            return (Self.currentThread, Self.ownRing(of: rings).map { $0 - rings })
        }
        // Nobody's, or that of another test's thread.
        #expect(rings[try #require(place)].owner != UInt32(first))
        hf_loop_events_provide(nil, 0)
        try onNewThread { loop in
            loop.performWithoutWaking(in: .default, label: "x") {}
            loop.run(in: .default, for: .zero)
            #expect(!hf_loop_events_are_kept())
        }
    }

    @Test("An abandoned callout is noted, and what comes after it has a later time")
    func abandoned() throws {
        nonisolated(unsafe) let rings = Self.provide()
        defer { hf_loop_events_provide(nil, 0) }
        let noted = try onNewThread { loop -> Events in
            loop.performWithoutWaking(in: .default, label: "bad") { hf_test_abandon_callout() }
            loop.performWithoutWaking(in: .default, label: "good") {}
            loop.run(in: .default, for: .zero)
            return Self.ownEvents(of: rings)
        }
        #expect(noted.events.map(\.label) == ["default", "bad", "good", "default"])
        #expect(noted.times.count == 4 && noted.times[1] < noted.times[2])
    }
}
