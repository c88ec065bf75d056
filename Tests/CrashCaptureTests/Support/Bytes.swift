import CCrashCapture

/// Fills a C array of characters with a text, NUL-terminated.
func fill<T>(_ array: inout T, _ text: String) {
    withUnsafeMutableBytes(of: &array) { bytes in
        precondition(text.utf8.count < bytes.count)
        bytes.copyBytes(from: text.utf8)
        bytes[text.utf8.count] = 0
    }
}

/// The bytes of a C structure.
func bytes<T>(of value: T) -> [UInt8] {
    withUnsafeBytes(of: value) { Array($0) }
}

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers for the same seed.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xbf58_476d_1ce4_e5b9
        bits = (bits ^ (bits >> 27)) &* 0x94d0_49bb_1331_11eb
        return bits ^ (bits >> 31)
    }
}
