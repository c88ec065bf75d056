package import Symbolication

/// Tells whether a stack is inside a function that may hold a `Mutex`: these locks are not counted.
///
/// `Mutex.withLock` is transparent. Even in debug builds it becomes part of its caller before there is debug information, and nothing says
/// where in the caller the lock is held. Only the caller's machine code tells (`LockCalls`). A yes may be wrong, if paths through the code
/// meet and only one of them holds the lock. A no is right. Answers are remembered per program counter, so that only new places take time.
///
/// For use from one thread at a time. Not for signal handlers.
@safe
package final class LockFrames {
    /// How many places are remembered at most, and the size of their table: in a half full table, searches are short.
    private static let mostRemembered = 4096
    private static let capacity = 8192

    private let executable: SymbolImage
    private let program: ProgramFile
    private let isStatic: Bool
    /// The debug file, as long as it may be needed: a stripped program has its symbols there.
    package var debug: ELFFile? {
        didSet {
            guard debug != nil else { return }
            if functions != nil {
                debug = nil
                return
            }
            // What could not be told without it may be told now.
            calls = nil
            forgetAnswers()
        }
    }
    /// Those that take and release locks, once they are known.
    private var functions: LockFunctions?
    /// Nil until it is first needed, and while the file cannot be read or is another build's.
    private var calls: (calls: LockCalls, file: ELFFile)?
    /// Places with their answers, or 0; found by open addressing, so that asking allocates nothing.
    private let answers: UnsafeMutablePointer<UInt64>
    private var count = 0

    /// What is known of a stack.
    package enum Finding: Sendable {
        /// No function on it holds a `Mutex`.
        case clear
        /// One may.
        case mayBeHeld
        /// The executable's file cannot be read, and the stack has one of its functions.
        case unread
    }

    /// Makes one for the functions of an executable.
    ///
    /// Addresses outside of it hold no `Mutex`.
    ///
    /// - Parameters:
    ///   - executable: The file as it was mapped. Without a build id it is taken as it is.
    ///   - program: The same, open; nil to open it by its path.
    ///   - isStatic: Whether the standard library is a part of it.
    package init(executable: SymbolImage, program: ProgramFile? = nil, isStatic: Bool = false) {
        self.executable = executable
        self.isStatic = isStatic
        self.program = program ?? ProgramFile(path: executable.path)
        unsafe answers = .allocate(capacity: Self.capacity)
        unsafe answers.initialize(repeating: 0, count: Self.capacity)
    }

    deinit {
        unsafe answers.deallocate()
    }

    /// Reads the file now rather than when the first place is asked for.
    package func warmUp() {
        _ = readCalls()
        var none: UInt64 = 0
        unsafe withUnsafePointer(to: &none) { place in
            // Twice, for both branches: the first look-up, and the remembered one.
            for _ in 0..<2 { _ = unsafe contain(UnsafeBufferPointer(start: place, count: 1)) }
        }
    }

    // MARK: For the program's next process

    /// What it may take over instead of reading symbols and relocations; nil while they could not be read.
    package func encoded() -> [UInt8]? { functions?.encoded() }

    /// Takes over what a process of the same program has read, unless it is anything else.
    package func takeOver(_ bytes: ArraySlice<UInt8>) {
        functions = functions ?? LockFunctions(decoding: bytes)
        if functions != nil { debug = nil }
    }

    // MARK: Asking

    /// Whether a function on a stack may hold a `Mutex` there, taken by itself or by code that was inlined into it.
    ///
    /// Allocates nothing and reads nothing if it was asked for all of these places before.
    ///
    /// - Parameter programCounters: The innermost first; the first one exact, the others return addresses.
    /// - Returns: The answer of the first such function, or of the first one that cannot be read.
    package func finding(in programCounters: UnsafeBufferPointer<UInt64>) -> Finding {
        for index in 0..<programCounters.count {
            let finding = finding(at: unsafe programCounters[index], isReturnAddress: index > 0)
            if finding != .clear { return finding }
        }
        return .clear
    }

    /// The same as a Boolean: a stack that cannot be read counts as a yes.
    package func contain(_ programCounters: UnsafeBufferPointer<UInt64>) -> Bool {
        unsafe finding(in: programCounters) != .clear
    }

    private func finding(at address: UInt64, isReturnAddress: Bool) -> Finding {
        // User space ends at 2^47; the lowest bit is the answer, and the top one says that there is one.
        let place = 1 << 63 | (address & (1 << 60 - 1)) << 2 | (isReturnAddress ? 2 : 0)
        var slot = Int(truncatingIfNeeded: (place &* 0x9e37_79b9_7f4a_7c15) >> 32) & (Self.capacity - 1)
        while unsafe answers[slot] != 0 {
            if unsafe answers[slot] & ~1 == place { return unsafe answers[slot] & 1 != 0 ? .mayBeHeld : .clear }
            slot = (slot + 1) & (Self.capacity - 1)
        }
        let answer = lookUp(address, isReturnAddress)
        // Not remembered: the file may be readable next time.
        guard answer != .unread else { return .unread }
        guard count < Self.mostRemembered else {
            forgetAnswers()
            return answer
        }
        unsafe answers[slot] = place | (answer == .mayBeHeld ? 1 : 0)
        count += 1
        return answer
    }

    private func forgetAnswers() {
        unsafe answers.update(repeating: 0, count: Self.capacity)
        count = 0
    }

    private func lookUp(_ address: UInt64, _ isReturnAddress: Bool) -> Finding {
        // A call may be the last instruction of a function that never returns: the address behind it belongs to another function.
        let lookedUp = isReturnAddress ? address &- 1 : address
        guard executable.contains(lookedUp) else { return .clear }
        guard let calls = readCalls() else { return .unread }
        let linked = lookedUp &- executable.base &+ calls.file.linkedBase
        return calls.calls.mayBeHeld(at: linked, isExact: !isReturnAddress) ? .mayBeHeld : .clear
    }

    private func readCalls() -> (calls: LockCalls, file: ELFFile)? {
        if let calls, calls.file.isIntact { return calls }
        calls = program.opened().flatMap { ELFFile($0, path: executable.path) }.flatMap { file in
            guard executable.buildID == nil || executable.buildID == file.buildID else { return nil }
            let symbols = [file, debug].compactMap(\.self).first(where: \.hasSymbols)
            let read = functions ?? LockFunctions(of: file, symbols: symbols, isStatic: isStatic)
            // Somebody may have closed a descriptor, and opened another file.
            if file.isIntact, functions != nil || symbols?.isIntact != false {
                functions = read
                if read != nil { debug = nil }
            }
            return (LockCalls(of: file, calling: functions), file)
        }
        return calls
    }
}
