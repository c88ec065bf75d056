import CRecoveryPoint
import Foundation
import Glibc
import RecoveryTestSupport
import RunLoops
import Testing

/// What a loop notes of itself, in memory that somebody else provides.
@Suite("Loop events", .serialized, .timeLimit(.minutes(10)))
struct LoopEventTests {
    /// Rings for all loops of this process from now on; other tests' threads take some, too, so they are never freed.
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

    private struct Event: Equatable {
        var kind: Int
        var label: String
        var nesting = 1
    }

    /// The events of a thread, the oldest first, and how many there were.
    private static func events(
        _ rings: UnsafeMutablePointer<HFEventRing>,
        of thread: pid_t
    ) -> (events: [Event], times: [Int64], count: Int) {
        guard let ring = (0..<ringCount).map({ rings + $0 }).first(where: { $0.pointee.thread == thread }) else {
            return ([], [], 0)
        }
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
        return (events, all.map(\.time), Int(ring.pointee.count))
    }

    @Test("Callouts, runs and sleeps are noted in their order, each with its label")
    func order() throws {
        let rings = Self.provide()
        defer { hf_loop_events_provide(nil, 0) }
        let thread = try onNewThread { loop -> pid_t in
            loop.perform(in: .default, label: "fifteen bytes..") {}
            loop.perform(in: .default, label: "sixteen bytes...") {
                loop.add(HostRunLoop.Source(label: "idle") {}, to: "nested")
                loop.run(in: "nested", for: .zero)
            }
            loop.add(
                HostRunLoop.Timer(label: String(repeating: "long ", count: 20), after: .milliseconds(2)) { _ in
                    loop.stop()
                }
            )
            loop.run(in: .default, for: .seconds(60))
            return Self.currentThread
        }
        let (events, times, count) = Self.events(rings, of: thread)
        #expect(
            events == [
                Event(kind: 16, label: "kCFRunLoopDefaultMode"), Event(kind: 5, label: "fifteen bytes.."),
                Event(kind: 5, label: "sixteen bytes..."), Event(kind: 16, label: "nested", nesting: 2),
                Event(kind: 17, label: "nested", nesting: 2), Event(kind: 18, label: ""),
                Event(kind: 3, label: String(repeating: "long ", count: 8)),
                Event(kind: 17, label: "kCFRunLoopDefaultMode"),
            ]
        )
        #expect(count == events.count)
        #expect(times == times.sorted() && times.allSatisfy { $0 > 0 })
    }

    @Test("Of more events than there is room for, the last are there")
    func overflow() throws {
        let rings = Self.provide()
        defer { hf_loop_events_provide(nil, 0) }
        let thread = try onNewThread { loop -> pid_t in
            for number in 1...300 { loop.perform(in: .default, label: "\(number)") {} }
            loop.run(in: .default, for: .zero)
            return Self.currentThread
        }
        let (events, _, count) = Self.events(rings, of: thread)
        #expect(count == 302)
        #expect(events.count == 128)
        #expect(events.dropLast().map(\.label) == (174...300).map(String.init))
    }

    @Test("Without memory nothing is noted, and a thread that ends gives its ring back")
    func off() throws {
        let rings = Self.provide()
        let first = try onNewThread { loop -> pid_t in
            loop.perform(in: .default, label: "x") {}
            loop.run(in: .default, for: .zero)
            #expect(hf_loop_events_are_kept())
            return Self.currentThread
        }
        let ring = (0..<Self.ringCount).map { rings + $0 }.first { $0.pointee.thread == first }
        #expect(ring?.pointee.owner == 0)
        hf_loop_events_provide(nil, 0)
        try onNewThread { loop in
            loop.perform(in: .default, label: "x") {}
            loop.run(in: .default, for: .zero)
            #expect(!hf_loop_events_are_kept())
        }
    }

    @Test("An abandoned callout is noted, and what comes after it has a later time")
    func abandoned() throws {
        let rings = Self.provide()
        defer { hf_loop_events_provide(nil, 0) }
        let thread = try onNewThread { loop -> pid_t in
            loop.perform(in: .default, label: "bad") { hf_test_abandon_callout() }
            loop.perform(in: .default, label: "good") {}
            loop.run(in: .default, for: .zero)
            return Self.currentThread
        }
        let (events, times, _) = Self.events(rings, of: thread)
        #expect(events.map(\.label) == ["kCFRunLoopDefaultMode", "bad", "good", "kCFRunLoopDefaultMode"])
        #expect(times[1] < times[2])
    }
}
