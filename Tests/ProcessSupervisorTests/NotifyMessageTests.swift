import Testing

@testable import ProcessSupervisor

@Suite struct NotifyMessageTests {
    private static func message(_ text: String) -> NotifyMessage { NotifyMessage(bytes: text.utf8) }

    @Test func `Assignments are read line by line, and the last one counts`() {
        let message = Self.message("READY=1\nSTATUS=a=b\nSTATUS=c\nno assignment\n=nothing\n")
        #expect(message.says("READY"))
        #expect(message["STATUS"] == "c")
        #expect(message.values.count == 3)
    }

    @Test func `Numbers that are none are none`() {
        for text in ["", "-1", "1e3", "99999999999999999999999", " 1"] {
            #expect(Self.message("WATCHDOG_USEC=\(text)").microseconds("WATCHDOG_USEC") == nil)
        }
        #expect(Self.message("WATCHDOG_USEC=2000000").microseconds("WATCHDOG_USEC") == .seconds(2))
    }

    @Test func `A text cannot give a terminal orders, nor be long`() {
        #expect(Self.message("STATUS=a\u{1b}[31mb\u{9b}c").line("STATUS") == "a?[31mb?c")
        #expect(Self.message("STATUS=" + String(repeating: "x", count: 5000)).line("STATUS")?.count == 256)
    }

    @Test func `Random bytes are a message of nothing, or of something, and no fault`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...64, using: &generator)).map { _ in
                // Much of what matters, to get beyond the first letter.
                UInt8.random(in: 0...3, using: &generator) > 0
                    ? Array("READYSTU=1\n".utf8).randomElement(using: &generator) ?? 0
                    : UInt8.random(in: 0...255, using: &generator)
            }
            let message = NotifyMessage(bytes: bytes)
            #expect(message.values.allSatisfy { !$0.key.isEmpty && !$0.value.contains("\n") })
        }
    }
}
