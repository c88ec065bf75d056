import Glibc

/// A line that a signal handler writes: what it interrupts may hold the heap's lock, or the runtime's.
///
/// Allocates nothing once it has been prepared.
enum HandlerLine {
    private static let capacity = 128
    private nonisolated(unsafe) static let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    private nonisolated(unsafe) static var count = 0

    /// Takes every way once, and writes nothing: -Onone code looks types up at first use.
    static func prepare() {
        write("", -1, "", 10, "", 0, to: -1)
    }

    /// Writes texts and numbers in turns.
    ///
    /// Safe to call from a signal handler, of one thread at a time.
    static func write(
        _ first: StaticString,
        _ one: CInt,
        _ second: StaticString,
        _ two: CInt,
        _ third: StaticString,
        _ three: CInt,
        to descriptor: CInt = STDOUT_FILENO
    ) {
        count = 0
        append(first)
        append(one)
        append(second)
        append(two)
        append(third)
        append(three)
        append(byte: UInt8(ascii: "\n"))
        _ = Glibc.write(descriptor, bytes, count)
    }

    private static func append(byte: UInt8) {
        guard count < capacity else { return }
        bytes[count] = byte
        count += 1
    }

    private static func append(_ text: StaticString) {
        var index = 0
        while index < text.utf8CodeUnitCount {
            append(byte: text.utf8Start[index])
            index += 1
        }
    }

    private static func append(_ number: CInt) {
        var rest = number.magnitude
        var unit: UInt32 = 1
        while rest / unit >= 10 { unit *= 10 }
        if number < 0 { append(byte: UInt8(ascii: "-")) }
        while unit > 0 {
            append(byte: UInt8(ascii: "0") + UInt8(rest / unit))
            rest %= unit
            unit /= 10
        }
    }
}
