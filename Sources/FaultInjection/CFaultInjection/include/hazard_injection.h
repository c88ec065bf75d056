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

// Circumstances, in signal_hazards.c

/// Runs the undefined instruction while all signals are blocked: SIGILL.
void faultMaskedSignals(void);
/// Runs the undefined instruction in a process that may not call process_vm_readv(2), by seccomp(2): SIGILL.
void faultUnreadableMemory(void);

// A static library, in callback_hazards.c

/// Calls `body`, as a library calls a function that it was given.
void hf_call_back(void (*body)(void *), void *context);
extern volatile int hf_inlined_calls;
/// How many calls of hf_call_back_inlined() are under way.
int hf_inlined_calls_under_way(void);
/// Calls `body`, as a function of a header that may become a part of its caller.
static inline void hf_call_back_inlined(void (*body)(void *), void *context) {
    hf_inlined_calls += 1;
    body(context);
    hf_inlined_calls -= 1;
}
/// Writes to page zero, as such a function.
static inline void hf_write_inlined(volatile int *place) { *place = 42; }
/// Calls `body`, and returns 0 when that does, or 1 when it was left by hf_fail_protected(): by setjmp(3).
int hf_call_protected(void (*body)(void *), void *context);
/// Leaves the innermost hf_call_protected(), if one is under way, by longjmp(3).
void hf_fail_protected(void);

// What a handler reads memory by, in refused_reads.c

/// Has process_vm_readv(2) fail with EPERM from now on, by a seccomp filter; returns 0 or an error number.
int hf_refuse_memory_reads(void);
/// Puts something else in place of each open file of proc_pid_mem(5); returns how many there were.
int hf_close_memory_files(void);

// C++, in cxx_exception.cpp

/// Calls `std::terminate` without an exception: SIGABRT.
void faultCxxTerminate(void);

// C++, in state_hazards.cpp

/// Runs the undefined instruction in the initialiser of a static variable of a function, once: SIGILL.
void faultStaticInitializer(void);
/// Runs the undefined instruction while an exception is being handled: SIGILL.
void faultExceptionState(void);

#ifdef __cplusplus
}
#endif

#endif
