import Glibc

extension Fault {
    /// The name of the function that commits the fault, without module and parameters.
    public var functionName: String {
        let words = rawValue.split(separator: "-").map { $0.prefix(1).uppercased() + $0.dropFirst() }
        return "fault" + words.joined()
    }

    /// One line that says what the fault does and how it is signalled.
    public var summary: String {
        switch self {
        case .nilUnwrap: "unwraps an optional that is nil (trap)"
        case .indexOutOfRange: "reads past the end of an array (trap)"
        case .overflow: "adds beyond the largest integer (trap)"
        case .precondition: "violates a precondition that has a message (trap)"
        case .fatalError: "calls fatalError with a message (trap)"
        case .tryBang: "throws an error into a try! (trap)"
        case .asBang: "casts an integer to a string with as! (SIGABRT)"
        case .duplicateKey: "builds a dictionary literal with the same key twice (trap)"
        case .exclusivity: "modifies a property while it is being modified (SIGABRT)"
        case .nullRead: "reads below the first page (SIGSEGV)"
        case .nullWrite: "writes below the first page (SIGSEGV)"
        case .wildPointer: "reads an address where nothing is mapped (SIGSEGV)"
        case .nonCanonical: "reads an address that the processor does not accept (SIGSEGV without an address)"
        case .readOnlyWrite: "writes to memory that is mapped read-only (SIGSEGV)"
        case .nullCall: "calls a null function pointer (SIGSEGV)"
        case .dataJump: "calls into a data section (SIGSEGV)"
        case .divideByZero: "divides by zero with idiv (SIGFPE)"
        case .ud2: "runs the undefined instruction (SIGILL)"
        case .int3: "runs a breakpoint instruction (SIGTRAP)"
        case .abort: "calls abort (SIGABRT)"
        case .assert: "fails an assertion in C (SIGABRT)"
        case .busPastEof: "reads a mapped file beyond its end (SIGBUS)"
        case .stackOverflow: "recurses until the stack is used up, without allocating (SIGSEGV)"
        case .doubleFree: "frees a block of memory twice (SIGABRT)"
        case .heapSmash: "overwrites the header of a block of memory and frees it (SIGABRT)"
        case .cxxException: "throws a C++ exception that nobody catches (SIGABRT)"
        case .raiseSegv: "raises SIGSEGV on the calling thread (SIGSEGV)"
        }
    }

    /// The number of the signal that the fault ends in, on x86-64.
    public var signal: CInt {
        switch self {
        case .nilUnwrap, .indexOutOfRange, .overflow, .precondition, .fatalError, .tryBang, .duplicateKey, .ud2:
            SIGILL
        case .asBang, .exclusivity, .abort, .assert, .doubleFree, .heapSmash, .cxxException:
            SIGABRT
        case .nullRead, .nullWrite, .wildPointer, .nonCanonical, .readOnlyWrite, .nullCall, .dataJump,
            .stackOverflow, .raiseSegv:
            SIGSEGV
        case .divideByZero: SIGFPE
        case .int3: SIGTRAP
        case .busPastEof: SIGBUS
        }
    }
}
