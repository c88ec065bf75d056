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
