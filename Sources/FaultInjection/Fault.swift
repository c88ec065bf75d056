internal import CFaultInjection
internal import Glibc

/// A way to crash, by the name that it has on command lines and in reports.
public enum Fault: String, CaseIterable, Sendable {
    /// Unwraps an optional that is nil.
    case nilUnwrap = "nil-unwrap"
    /// Reads past the end of an array.
    case indexOutOfRange = "index-out-of-range"
    /// Adds beyond the largest integer.
    case overflow
    /// Violates a precondition.
    case precondition
    /// Stops with a message.
    case fatalError = "fatal-error"
    /// Meets an error that was declared impossible.
    case tryBang = "try-bang"
    /// Casts to a type that the value does not have.
    case asBang = "as-bang"
    /// Builds a dictionary with the same key twice.
    case duplicateKey = "duplicate-key"
    /// Modifies a variable that is being modified.
    case exclusivity
    /// Reads below the first page.
    case nullRead = "null-read"
    /// Writes below the first page.
    case nullWrite = "null-write"
    /// Reads an address where nothing is mapped.
    case wildPointer = "wild-pointer"
    /// Reads an address that the processor does not accept.
    case nonCanonical = "non-canonical"
    /// Writes to memory that is mapped read-only.
    case readOnlyWrite = "read-only-write"
    /// Calls a null function pointer.
    case nullCall = "null-call"
    /// Calls into data.
    case dataJump = "data-jump"
    /// Divides by zero with the processor's instruction.
    case divideByZero = "divide-by-zero"
    /// Runs the undefined instruction.
    case ud2
    /// Runs a breakpoint instruction.
    case int3
    /// Calls the C library's function of that name.
    case abort
    /// Fails an assertion in C.
    case assert
    /// Reads a mapped file beyond its end.
    case busPastEof = "bus-past-eof"
    /// Recurses until the stack is used up, without allocating.
    case stackOverflow = "stack-overflow"
    /// Frees a block of memory twice.
    case doubleFree = "double-free"
    /// Overwrites the allocator's bookkeeping.
    case heapSmash = "heap-smash"
    /// Throws a C++ exception that nobody catches.
    case cxxException = "cxx-exception"
    /// Sends the signal of a bad memory access to the calling thread.
    case raiseSegv = "raise-segv"
}

extension Fault {
    /// What it does and how it is signalled, the signal that it ends in on x86-64, and the function that commits it.
    private var facts: Cause.Facts {
        switch self {
        case .nilUnwrap: ("unwraps an optional that is nil (trap)", SIGILL, faultNilUnwrap)
        case .indexOutOfRange: ("reads past the end of an array (trap)", SIGILL, faultIndexOutOfRange)
        case .overflow: ("adds beyond the largest integer (trap)", SIGILL, faultOverflow)
        case .precondition: ("violates a precondition that has a message (trap)", SIGILL, faultPrecondition)
        case .fatalError: ("calls fatalError with a message (trap)", SIGILL, faultFatalError)
        case .tryBang: ("throws an error into a try! (trap)", SIGILL, faultTryBang)
        case .asBang: ("casts an integer to a string with as! (SIGABRT)", SIGABRT, faultAsBang)
        case .duplicateKey: ("builds a dictionary literal with the same key twice (trap)", SIGILL, faultDuplicateKey)
        case .exclusivity: ("modifies a property while it is being modified (SIGABRT)", SIGABRT, faultExclusivity)
        case .nullRead: ("reads below the first page (SIGSEGV)", SIGSEGV, faultNullRead)
        case .nullWrite: ("writes below the first page (SIGSEGV)", SIGSEGV, faultNullWrite)
        case .wildPointer: ("reads an address where nothing is mapped (SIGSEGV)", SIGSEGV, faultWildPointer)
        case .nonCanonical:
            (
                "reads an address that the processor does not accept (SIGSEGV without an address)", SIGSEGV,
                faultNonCanonical
            )
        case .readOnlyWrite: ("writes to memory that is mapped read-only (SIGSEGV)", SIGSEGV, faultReadOnlyWrite)
        case .nullCall: ("calls a null function pointer (SIGSEGV)", SIGSEGV, faultNullCall)
        case .dataJump: ("calls into a data section (SIGSEGV)", SIGSEGV, faultDataJump)
        case .divideByZero: ("divides by zero with idiv (SIGFPE)", SIGFPE, faultDivideByZero)
        case .ud2: ("runs the undefined instruction (SIGILL)", SIGILL, faultUd2)
        case .int3: ("runs a breakpoint instruction (SIGTRAP)", SIGTRAP, faultInt3)
        case .abort: ("calls abort (SIGABRT)", SIGABRT, faultAbort)
        case .assert: ("fails an assertion in C (SIGABRT)", SIGABRT, faultAssert)
        case .busPastEof: ("reads a mapped file beyond its end (SIGBUS)", SIGBUS, faultBusPastEof)
        case .stackOverflow:
            ("recurses until the stack is used up, without allocating (SIGSEGV)", SIGSEGV, faultStackOverflow)
        case .doubleFree: ("frees a block of memory twice (SIGABRT)", SIGABRT, faultDoubleFree)
        case .heapSmash: ("overwrites the header of a block of memory and frees it (SIGABRT)", SIGABRT, faultHeapSmash)
        case .cxxException: ("throws a C++ exception that nobody catches (SIGABRT)", SIGABRT, faultCxxException)
        case .raiseSegv: ("raises SIGSEGV on the calling thread (SIGSEGV)", SIGSEGV, faultRaiseSegv)
        }
    }

    /// One line that says what the fault does and how it is signalled.
    public var summary: String { facts.summary }

    /// The number of the signal that the fault ends in, on x86-64.
    public var signal: CInt { facts.signal }

    /// The name of the function that commits the fault, without module and parameters.
    public var functionName: String { Cause.fault(self).functionName }

    /// Commits the fault on the calling thread, in the function that is named after it.
    ///
    /// Returns only when a handler made the thread go on behind the fault.
    @inline(never)
    public func commit() {
        facts.commit()
        // A call after the fault keeps this function's frame below it.
        hf_fault_returned()
    }
}
