#ifndef HF_HAZARD_INJECTION_H
#define HF_HAZARD_INJECTION_H

// Faults at moments that a careless resume would not survive. Each function commits one, as those of fault_injection.h do.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Locks, in lock_hazards.c

/// Runs the undefined instruction while a mutex of the POSIX threads library is held: SIGILL.
void faultPthreadMutex(void);
/// Runs the undefined instruction while a readers-writer lock is held for writing: SIGILL.
void faultPthreadRwlock(void);
/// Runs the undefined instruction while the standard output is locked with flockfile(3): SIGILL.
void faultStdioLock(void);
/// Runs the undefined instruction in a callback of dl_iterate_phdr(3), which holds the loader's lock: SIGILL.
void faultLoaderLock(void);

// The C library, in library_hazards.c

/// Runs the undefined instruction in a function that qsort(3) calls: SIGILL.
void faultQsortComparator(void);
/// Makes malloc follow a bad link under its lock: SIGSEGV inside the C library.
void faultMallocLock(void);
/// Ends as an overwritten stack protector does: SIGABRT through `__stack_chk_fail`.
void faultStackSmash(void);

// The stack, in stack_hazards.c

/// Recurses and allocates until the stack is used up: SIGSEGV inside malloc.
void faultAllocatingOverflow(void);
/// Runs the undefined instruction while a new thread keeps reading an array of this function's frame: SIGILL.
void faultWatchedFrame(void);
/// How often the reading threads have read the whole array. Safe to call from any thread.
uint64_t hf_watcher_rounds(void);
/// How many words were not those that were written. Safe to call from any thread.
uint64_t hf_watcher_damage(void);
/// Pushes with a stack pointer that is just above page zero: SIGSEGV.
void faultGarbageStackPointer(void);
/// Pushes with a stack pointer that the processor does not accept: SIGBUS.
void faultNonCanonicalStackPointer(void);

// C++, in cxx_exception.cpp

/// Calls `std::terminate` without an exception: SIGABRT.
void faultCxxTerminate(void);

#ifdef __cplusplus
}
#endif

#endif
