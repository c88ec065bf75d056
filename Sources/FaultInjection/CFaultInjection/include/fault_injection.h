#ifndef HF_FAULT_INJECTION_H
#define HF_FAULT_INJECTION_H

// Faults that Swift cannot commit, or that an optimiser would fold away. Each function commits one, in its own frame,
// at the line that says so, in debug and in release. One that returns has had its signal ignored or recovered from.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Returns its argument, in a way that no optimiser sees through.
int64_t hf_fault_opaque(int64_t value);

/// Notes that a fault came back, which also keeps the call of the fault from becoming a tail call.
void hf_fault_returned(void);

/// How many faults came back in this process. Safe to call from any thread.
uint64_t hf_fault_returned_count(void);

// Memory, in memory_faults.c

/// Reads below the first page: SIGSEGV, SEGV_MAPERR.
void faultNullRead(void);
/// Writes below the first page: SIGSEGV, SEGV_MAPERR.
void faultNullWrite(void);
/// Reads an address where nothing is mapped: SIGSEGV, SEGV_MAPERR.
void faultWildPointer(void);
/// Reads an address that no x86-64 processor accepts: SIGSEGV, SI_KERNEL, without an address.
void faultNonCanonical(void);
/// Writes to memory that is mapped read-only, its own code: SIGSEGV, SEGV_ACCERR.
void faultReadOnlyWrite(void);
/// Reads a mapped page that lies past the end of its file: SIGBUS, BUS_ADRERR.
void faultBusPastEof(void);
/// Recurses without allocating until the stack is used up: SIGSEGV.
void faultStackOverflow(void);

// Instructions, in instruction_faults.c

/// Calls a null function pointer: SIGSEGV at program counter 0.
void faultNullCall(void);
/// Calls into a data section: SIGSEGV, SEGV_ACCERR, at the data's address.
void faultDataJump(void);
/// Divides by zero with `idiv`: SIGFPE, FPE_INTDIV.
void faultDivideByZero(void);
/// Runs the undefined instruction: SIGILL, ILL_ILLOPN.
void faultUd2(void);
/// Runs a breakpoint instruction: SIGTRAP. The program counter is the one after it.
void faultInt3(void);

// Calls that end in a signal the process sends to itself, in library_faults.c and cxx_exception.cpp

/// Calls `abort`: SIGABRT.
void faultAbort(void);
/// Fails an `assert`: SIGABRT.
void faultAssert(void);
/// Frees a block twice, which the allocator notices: SIGABRT.
void faultDoubleFree(void);
/// Overwrites a block's header and frees the block, which the allocator notices: SIGABRT.
void faultHeapSmash(void);
/// Raises SIGSEGV on the calling thread: SI_TKILL, no memory access.
void faultRaiseSegv(void);
/// Throws a C++ exception that nobody catches: SIGABRT through `std::terminate`.
void faultCxxException(void);

#ifdef __cplusplus
}
#endif

#endif
