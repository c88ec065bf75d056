/// What kind of fault a report is about: finer than its signal, coarser than its texts.
///
/// Texts differ from fault to fault and between a debug and an optimised build of the same bug, so both the fingerprint and the
/// diagnosis are made from this.
enum FaultClass: Hashable, Sendable {
    // Checks of Swift
    case nilUnwrap, indexOutOfRange, overflow, divisionByZero, conversion, invalidRange, duplicateKey
    case failedCast(from: String, to: String)
    case tryBang(error: String)
    case unownedReference, escapedDeinit, exclusivity
    case precondition(String)
    case assertion(String)
    case fatalError(String)
    /// An error that the program's main function threw, or that nobody caught in main.swift.
    case uncaughtError(String)
    case wrongExecutor, continuationMisuse
    /// The same as `wrongExecutor`, where libdispatch has looked.
    case wrongQueue
    /// A check of the compiler or of the runtime that has no class of its own.
    case check(String)
    /// A trap of which nothing was said.
    case trap

    // Libraries
    case cAssertion(String)
    case doubleFree, heapCorruption, stackSmash, bufferOverflow
    case cxxException(String)
    case cxxTerminate, pureVirtual, dispatchMisuse, outOfMemory
    case abort(String)

    // Memory
    case nullPointer, nullCall, badJump, stackOverflow, badStackPointer, badObject, nonCanonical, readOnly, badAddress
    case pastEndOfFile, misaligned, hardwareMemory

    // The processor and the system
    case illegalInstruction, privilegedInstruction, breakpoint, arithmetic, forbiddenSystemCall, processorTime, fileSize
    /// Nothing faulted: a callout took too long.
    case deadline
    case sent(signal: String)
    case raised(signal: String)
    case other(signal: String)
    /// Nothing faulted: something did not go on.
    case stall
    /// What a supervisor saw of the end of a process: cause and subject.
    case death(String)

    /// What the runtime says before such an error (swift/stdlib/public/core/ErrorType.swift).
    static let uncaught = "Error raised at top level: "

    /// How the class counts for a fingerprint: no number, no address, and nothing that an optimised build does not know.
    ///
    /// Never changes, or the version of fingerprints does.
    var fingerprintName: String {
        switch self {
        case .nilUnwrap: "nil"
        case .indexOutOfRange: "index"
        case .overflow: "overflow"
        case .divisionByZero: "division by zero"
        case .conversion: "conversion"
        case .invalidRange: "range"
        case .duplicateKey: "duplicate key"
        // In a generic function the types are its caller's.
        case .failedCast: "cast"
        case .tryBang(let error): "try \(error)"
        case .unownedReference: "unowned"
        case .escapedDeinit: "escaped deinit"
        case .exclusivity: "exclusivity"
        // An optimised build does not have the text.
        case .precondition: "precondition"
        case .assertion: "assertion"
        case .fatalError(let text): "fatal error \(StableText.of(text))"
        case .uncaughtError(let error): "fatal error \(StableText.of(Self.uncaught + error))"
        case .wrongExecutor: "executor"
        case .continuationMisuse: "continuation"
        case .check(let text): "check \(StableText.of(text))"
        case .trap, .illegalInstruction: "trap"
        case .cAssertion(let text): "assert \(text.prefix(StableText.limit))"
        case .doubleFree: "double free"
        // What the allocator finds, and where, is chance.
        case .heapCorruption: "heap"
        case .stackSmash: "stack smash"
        case .bufferOverflow: "buffer overflow"
        case .cxxException(let type): "exception \(type)"
        case .cxxTerminate: "terminate"
        case .pureVirtual: "pure virtual"
        case .dispatchMisuse, .wrongQueue: "dispatch"
        case .outOfMemory: "out of memory"
        case .abort(let text): "abort \(StableText.of(text))"
        case .nullPointer: "null"
        case .nullCall: "null call"
        case .badJump: "jump"
        case .stackOverflow: "stack overflow"
        case .badStackPointer: "stack pointer"
        // Where a pointer leads that is wrong depends on the layout of the address space.
        case .badObject, .nonCanonical, .readOnly, .badAddress: "address"
        case .pastEndOfFile: "end of file"
        case .misaligned: "misaligned"
        case .hardwareMemory: "hardware"
        case .privilegedInstruction: "privileged"
        case .breakpoint: "breakpoint"
        case .arithmetic: "arithmetic"
        case .forbiddenSystemCall: "system call"
        case .processorTime: "processor time"
        case .fileSize: "file size"
        case .deadline: "deadline"
        case .sent(let signal): "sent \(signal)"
        case .raised(let signal): "raised \(signal)"
        case .other(let signal): signal
        case .stall: "stall"
        case .death(let cause): "death \(cause)"
        }
    }
}
