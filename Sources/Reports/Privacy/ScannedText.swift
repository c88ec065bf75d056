/// The bytes of a text that is looked through for secrets.
struct ScannedText {
    /// How often bytes were looked at: what a text costs, told without a clock.
    final class LookCounter {
        var looks = 0
    }

    let bytes: [UInt8]
    /// Nil where nobody counts.
    let counter: LookCounter?

    var count: Int { bytes.count }

    subscript(place: Int) -> UInt8 {
        counter?.looks += 1
        return bytes[place]
    }

    subscript(range: Range<Int>) -> ArraySlice<UInt8> {
        counter?.looks += range.count
        return bytes[range]
    }
}
