import LinuxSystem
import Testing

struct ByteTextTests {
    @Test(arguments: [
        [], Array("plain ä 😀 \u{FFFD}".utf8), [0xff], [0x61, 0xc3], [0xc3, 0x28], [0xe2, 0x82],
        [0xf0, 0x9f, 0x98, 0x61, 0x80],
        // A surrogate, more than there is, and longer than needed.
        [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xc0, 0x80],
        // What stands for a byte, and the characters beside it.
        Array("\u{10FE80}\u{10FEFF}\u{10FE7F}\u{10FF00}".utf8),
    ])
    func `No byte is lost`(bytes: [UInt8]) {
        let text = ByteText.text(bytes)
        #expect(ByteText.bytes(of: text) == bytes)
        if let valid = String(validating: bytes, as: UTF8.self), !valid.contains("\u{10FE80}") {
            #expect(text == valid)
        }
    }

    @Test func `Any bytes come back`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<10_000 {
            let bytes = (0..<Int.random(in: 0...12)).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            #expect(ByteText.bytes(of: ByteText.text(bytes)) == bytes)
        }
    }
}
