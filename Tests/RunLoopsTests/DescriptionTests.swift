import Foundation
import RecoveryTestSupport
import Testing

@testable import RunLoops

@Suite("Describing a loop", .timeLimit(.minutes(10)))
struct DescriptionTests {
    /// Control characters, quotes, a change of direction, a separator and what lies beyond the basic plane.
    private static let hostile = "a\u{1b}[31m\n\"b\\\u{7f}\u{85}\u{202e}\u{2028}\u{0}é😀\u{e0041}"

    /// A label ends at its first NUL, as everywhere where it is a C string.
    private static let shown = String(hostile.prefix { $0 != "\u{0}" })

    /// A snapshot from inside a timer's callout in a nested run, with some of everything.
    private func sample(hostile: String = Self.hostile) throws -> HostRunLoop.Snapshot {
        let taken = Cell<HostRunLoop.Snapshot?>(nil)
        try onNewThread { loop in
            let pipe = TestPipe()
            let port = pipe.portSource("port") { _ in }
            port.interest = [.readable, .writable]
            let second = HostRunLoop.Source(label: "second", order: 2) { _ in }
            loop.add(second, to: .common)
            loop.add(HostRunLoop.Source(label: hostile, order: -1) { _ in })
            loop.add(HostRunLoop.Observer(label: "late", activities: [.entry, .exit], order: 9) { _, _ in })
            loop.add(HostRunLoop.Observer(label: "early", activities: .exit, repeats: false, order: -9) { _, _ in })
            loop.add(HostRunLoop.Timer(label: "far", after: .seconds(500)) { _ in }, to: .common)
            let near = HostRunLoop.Timer(label: "near", after: .seconds(400), repeating: .milliseconds(1500)) { _ in }
            near.tolerance = .milliseconds(20)
            loop.add(near)
            loop.add(
                HostRunLoop.Timer(label: "firing", after: .zero) { _ in
                    second.signal()
                    loop.performWithoutWaking(in: "other", label: "one") {}
                    loop.performWithoutWaking(inAnyOf: ["z", hostile == "plain" ? "a" : "a\t"], label: hostile) {}
                    loop.stop()
                    taken.value = loop.snapshot()
                }
            )
            try loop.add(port, to: "other")
            loop.addCommonMode("other")
            loop.run(for: .milliseconds(100))
        }
        return try #require(taken.value)
    }

    @Test("A snapshot holds every item with its state, in an order that is always the same")
    func snapshot() throws {
        let snapshot = try sample()
        #expect(snapshot["nesting"].number == 1)
        #expect(snapshot["currentMode"].string == "default")
        #expect(snapshot["stopped"].bool == true)
        #expect(snapshot["main"].bool == false)
        #expect(snapshot["waiting"].bool == false)
        // In a callout after the wait.
        #expect(snapshot["ignoreWakeUps"].bool == true)
        #expect(snapshot["wakeUpPending"].bool == false)
        #expect(snapshot["passes"].number == 1)
        #expect(snapshot["commonModes"].strings == ["default", "other"])
        #expect(snapshot["commonModeItems"].labels == ["second", "far"])
        #expect(snapshot["commonModeItems"].all.map { $0["kind"].string } == ["source", "timer"])
        #expect(snapshot["modes"].all.map { $0["name"].string } == ["a\t", "default", "other", "z"])
        #expect(snapshot["blocks"].all.map { $0["modes"].strings } == [["other"], ["a\t", "z"]])
        #expect(snapshot["blocks"].labels == ["one", Self.shown])

        let mode = snapshot.mode("default")
        #expect(try #require(mode["portSet"].number) >= 0)
        #expect(mode["sources0"].labels == ["second", Self.shown])
        #expect(mode["sources0"].all.map { $0["signalled"].bool } == [true, false])
        #expect(mode["sources0"].all.map { $0["order"].number } == [2, -1])
        #expect(mode["sources1"].text == "[]")
        #expect(mode["observers"].labels == ["early", "late"])
        #expect(mode["observers"].all.map { $0["activities"].bits } == [0x80, 0x81])
        #expect(mode["observers"].all.map { $0["repeats"].bool } == [false, true])
        #expect(mode["timers"].labels == ["firing", "near", "far"])
        #expect(mode["timers"].all.map { $0["firing"].bool } == [true, false, false])
        #expect(mode["timers"].all.map { $0["interval"].number } == [0, 1_500_000_000, 0])
        #expect(mode["timers"].all.map { $0["tolerance"].number } == [0, 20_000_000, 0])
        let date = try #require(snapshot["date"].number)
        #expect(mode["timers"].all.dropFirst().allSatisfy { $0["nextFireDate"].number ?? 0 > date + 300_000_000_000 })

        let other = snapshot.mode("other")
        #expect(other["sources1"].labels == ["port"])
        #expect(other["sources1"].all.map { $0["interest"].strings } == [["readable", "writable"]])
        #expect(other["sources1"].all.allSatisfy { $0["descriptor"].number ?? -1 >= 0 && $0["valid"].bool == true })
        #expect(other["sources0"].all.map(\.text) == [mode["sources0"].all[0].text])
    }

    @Test("The JSON is JSON: another reader finds the same in it")
    func json() throws {
        let snapshot = try sample()
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(snapshot.json.utf8)) as? [String: Any]
        )
        #expect(object["currentMode"] as? String == "default")
        #expect(object["nesting"] as? Int == 1)
        #expect(object["stopped"] as? Bool == true)
        #expect(object["date"] as? Int64 == snapshot["date"].number)
        #expect(object["blockCount"] as? Int == 2)
        let modes = try #require(object["modes"] as? [[String: Any]])
        #expect(modes.map { $0["name"] as? String } == snapshot["modes"].all.map { $0["name"].string })
        let sources = try #require(modes[1]["sources0"] as? [[String: Any]])
        #expect(sources.map { $0["label"] as? String } == ["second", Self.shown])
        let timers = try #require(modes[1]["timers"] as? [[String: Any]])
        #expect(timers.map { $0["interval"] as? Int64 } == [0, 1_500_000_000, 0])
        #expect(timers.map { $0["firing"] as? Bool } == [true, false, false])
        let dates = snapshot.mode("default")["timers"].all.map { $0["nextFireDate"].number }
        #expect(timers.map { $0["nextFireDate"] as? Int64 } == dates)
        let observers = try #require(modes[1]["observers"] as? [[String: Any]])
        #expect(observers.map { $0["activities"] as? String } == ["0x80", "0x81"])
        let ports = try #require(modes[2]["sources1"] as? [[String: Any]])
        #expect(ports.map { $0["interest"] as? [String] } == [["readable", "writable"]])

        let idle = try onNewThread { $0.snapshot() }
        let idleObject = try #require(
            try JSONSerialization.jsonObject(with: Data(idle.json.utf8)) as? [String: Any]
        )
        #expect(idleObject["currentMode"] is NSNull)
        #expect((idleObject["blocks"] as? [Any])?.isEmpty == true)
    }

    @Test("The text says what the JSON says, member by member")
    func sameContent() throws {
        // Labels are quoted in two manners; these need none.
        let snapshot = try sample(hostile: "plain")
        var text = Substring(snapshot.description)
        let pattern = #/"(?<name>[A-Za-z0-9]+)":(?<value>"[^"]*"|-?[0-9]+|true|false|null)/#
        let members = snapshot.json.matches(of: pattern)
        #expect(members.count > 80)
        for member in members {
            let words = member.name.map { $0.isUppercase ? " " + $0.lowercased() : String($0) }.joined()
            var value = member.value == "null" ? "(none)" : String(member.value)
            if value.hasPrefix("\"0x") {
                value.removeAll { $0 == "\"" }
            }
            // Each behind the one before.
            let range = try #require(text.firstRange(of: "\(words) = \(value)"), "\(words) = \(value)")
            text = text[range.upperBound...]
        }
        #expect(snapshot.description.hasPrefix("<HostRunLoop>{\n    address = 0x"))
        #expect(snapshot.description.contains("    current mode = \"default\",\n"))
        #expect(snapshot.description.contains("activities = 0x81, repeats = true, order = 9}"))
    }

    @Test("No label can control a terminal, break a line or turn the text around")
    func hostileLabels() throws {
        let snapshot = try sample()
        for (text, lineBreaks) in [(snapshot.json, false), (snapshot.description, true)] {
            let hostile = text.unicodeScalars.filter { $0.isHostile && !(lineBreaks && $0 == "\n") }
            #expect(Array(hostile) == [])
        }
        #expect(snapshot.description.contains("a\\u{1b}[31m\\u{a}\\\"b\\\\\\u{7f}\\u{85}\\u{202e}\\u{2028}"))
        // The last character has two halves in UTF-16.
        #expect(JSONValue.string("\u{e0041}").text == "\"\\udb40\\udc41\"")
    }

    @Test("A loop describes itself from any thread, while it runs and asleep")
    func fromOtherThread() throws {
        let thread = NewThread { loop in
            loop.addIdleSource()
            return loop.run(for: .seconds(50))
        }
        waitUntilAsleep(thread.loop)
        #expect(thread.loop.description == "<HostRunLoop current mode = \"default\">")
        let text = thread.loop.snapshot().description
        #expect(text.contains("waiting = true"))
        #expect(text.contains("label = \"idle\""))
        thread.loop.stop()
        #expect(try thread.join() == .stopped)
        #expect(thread.loop.description == "<HostRunLoop current mode = (none)>")
    }
}
