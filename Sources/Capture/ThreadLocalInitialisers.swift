internal import CCrashCapture
internal import CRecoveryPoint
internal import Symbolication

/// Recognises functions of the executable that initialise thread-local variables of C++.
///
/// Variables of namespace scope count as initialised before their initialisers run: one byte, `__tls_guard`, says it for all of a file
/// (clang and GCC). If a callout is abandoned in between, nobody ever initialises them. No name tells such a function, because it is
/// inlined in release builds. But it sets that byte to one, in the thread's storage of the executable (`ThreadPointerFlow`). Symbols tell
/// where such bytes are (`ThreadLocalGuards`); most programs have none.
///
/// For the crash thread. Made once and never freed: verdicts must not allocate.
@safe
final class ThreadLocalInitialisers {
    private static let capacity = 2048
    private static let longestFunction = 1 << 16

    /// Former answers: places with their answers in the lowest bit, at the index of their hash.
    private let answers: UnsafeMutablePointer<UInt64>

    init() {
        unsafe answers = .allocate(capacity: Self.capacity)
        unsafe answers.initialize(repeating: 0, count: Self.capacity)
    }

    deinit {
        unsafe answers.deallocate()
    }

    /// Whether one of some functions initialises thread-local variables.
    ///
    /// - Parameters:
    ///   - programCounters: The innermost first; the first one exact, the others return addresses. Of the executable alone.
    ///   - walker: Finds the functions.
    ///   - guards: The guards that the executable's file names, the same at each call; nil if it was not read.
    /// - Returns: Whether one was found. A function without a description counts as none.
    func contain(
        _ programCounters: UnsafeBufferPointer<UInt64>,
        _ walker: StackWalker,
        _ guards: ThreadLocalGuards?
    ) -> Bool {
        // If the file was not read, nothing is resumed anyway.
        guard let guards, !guards.isEmpty else { return false }
        for index in 0..<programCounters.count {
            let address = unsafe programCounters[index] &- (index > 0 ? 1 : 0)
            let slot = Int(truncatingIfNeeded: (address &* 0x9e37_79b9_7f4a_7c15) >> 53) & (Self.capacity - 1)
            // User space ends at 2^47.
            let place = address << 1
            if unsafe answers[slot] & ~1 == place, place != 0 {
                if unsafe answers[slot] & 1 != 0 { return true }
                continue
            }
            let answer = isInitialiser(at: address, walker, guards)
            unsafe answers[slot] = place | (answer ? 1 : 0)
            if answer { return true }
        }
        return false
    }

    private func isInitialiser(at address: UInt64, _ walker: StackWalker, _ guards: ThreadLocalGuards) -> Bool {
        guard let image = unsafe walker.images.image(at: address), unsafe image.pointee.kind == .application,
            let function = walker.function(at: address),
            walker.images.isReadOnlyImageMemory(function.lowerBound, count: UInt64(function.count)),
            let start = unsafe UnsafeRawPointer(bitPattern: UInt(function.lowerBound))
        else { return false }
        // The executable is never unloaded.
        let code = unsafe UnsafeRawBufferPointer(start: start, count: min(function.count, Self.longestFunction))
        return unsafe ThreadPointerFlow.setsGuard(in: code, guards)
    }
}
