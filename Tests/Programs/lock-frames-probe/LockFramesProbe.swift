import AllocationCounter
import CrashCapture
import Glibc
import Symbolication

/// Measures `LockFrames` on a stack of 32 places that lie all over an executable, and counts what asking again allocates.
///
/// Usage: `lock-frames-probe [EXECUTABLE]`; its own without one. Prints a line of names and numbers.
@main
struct LockFramesProbe {
    private static let base: UInt64 = 1 << 40
    private static let repetitions = 10_000

    static func main() {
        let path = CommandLine.arguments.dropFirst().first ?? "/proc/self/exe"
        guard let code = codeSize(of: path) else {
            print("\(path): not an executable that can be read")
            exit(1)
        }
        let image = SymbolImage(path: path, base: base, end: base + code.upperBound, buildID: nil)
        let places = places(in: code, of: image)

        let cold = measure(LockFrames(executable: image), places)
        let lockFrames = LockFrames(executable: image)
        let start = now()
        lockFrames.warmUp()
        let warmUp = now() - start
        let first = measure(lockFrames, places)
        hf_allocation_count_begin()
        let again = now()
        for _ in 0..<repetitions { _ = places.withUnsafeBufferPointer(lockFrames.contain) }
        let warm = (now() - again) / Double(repetitions)
        let count = hf_allocation_count_end()
        print(
            "allocations \(count.allocations + count.reallocations) places \(places.count) cold-us \(Int(cold / 1000))",
            "warm-up-us \(Int(warmUp / 1000)) first-us \(Int(first / 1000)) warm-ns \(Int(warm))"
        )
    }

    /// Places that are no lock frames: one that is ends the search for others.
    private static func places(in code: Range<UInt64>, of image: SymbolImage) -> [UInt64] {
        let lockFrames = LockFrames(executable: image)
        let step = (code.upperBound - code.lowerBound) / 64
        let places = (0..<64).map { base + code.lowerBound + step * $0 + 1 }
        return Array(places.filter { !isLockFrame($0, lockFrames) }.prefix(32))
    }

    private static func isLockFrame(_ place: UInt64, _ lockFrames: LockFrames) -> Bool {
        withUnsafePointer(to: place) { lockFrames.contain(.init(start: $0, count: 1)) }
    }

    private static func measure(_ lockFrames: LockFrames, _ places: [UInt64]) -> Double {
        let start = now()
        // One by one: all are looked up, whatever the answers are.
        for place in places { _ = isLockFrame(place, lockFrames) }
        _ = places.withUnsafeBufferPointer(lockFrames.contain)
        return now() - start
    }

    /// Where the code of a position-independent executable is, from its program headers (elf(5)).
    private static func codeSize(of path: String) -> Range<UInt64>? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: 4096)
        guard read(descriptor, &header, header.count) == header.count else { return nil }
        return header.withUnsafeBytes { bytes in
            for index in 0..<Int(bytes.load(fromByteOffset: 56, as: UInt16.self)) {
                let start = 64 + index * 56
                guard start + 56 <= bytes.count, bytes.load(fromByteOffset: start, as: UInt32.self) == 1,
                    bytes.load(fromByteOffset: start + 4, as: UInt32.self) & 1 != 0
                else { continue }
                let address = bytes.load(fromByteOffset: start + 16, as: UInt64.self)
                return address..<address + bytes.load(fromByteOffset: start + 40, as: UInt64.self)
            }
            return nil
        }
    }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}
