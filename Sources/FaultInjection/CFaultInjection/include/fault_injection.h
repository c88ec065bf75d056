#pragma once

// Faults that Swift cannot commit, or that an optimiser would fold away. Each function commits one, in its own frame,
// at the line that says so, in debug and in release. One that returns has had its signal ignored or recovered from.

#include <stdbool.h>
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

// Instructions, in memory_faults.c

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

// Calls that end in a signal the process sends to itself, in library_faults.c and cxx_faults.cpp

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

// ---------------------------------------------------------------------------------------------------------------------
// Faults at moments that a careless resume would not survive. Each function commits one, as the others do.

// Locks, in library_faults.c

/// Runs the undefined instruction while a mutex of the POSIX threads library is held: SIGILL.
void faultPthreadMutex(void);
/// Runs the undefined instruction while a readers-writer lock is held for writing: SIGILL.
void faultPthreadRwlock(void);
/// Runs the undefined instruction while the standard output is locked with flockfile(3): SIGILL.
void faultStdioLock(void);
/// Runs the undefined instruction in a callback of dl_iterate_phdr(3), which holds the loader's lock: SIGILL.
void faultLoaderLock(void);

// The C library, in library_faults.c

/// Runs the undefined instruction in a function that qsort(3) calls: SIGILL.
void faultQsortComparator(void);
/// Makes malloc follow a bad link under its lock: SIGSEGV inside the C library.
void faultMallocLock(void);
/// Ends as an overwritten stack protector does: SIGABRT through `__stack_chk_fail`.
void faultStackSmash(void);

// The stack, in memory_faults.c

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

// Circumstances, in system_faults.c

/// Runs the undefined instruction while all signals are blocked: SIGILL.
void faultMaskedSignals(void);
/// Runs the undefined instruction in a process that may not call process_vm_readv(2), by seccomp(2): SIGILL.
void faultUnreadableMemory(void);

// A static library, in library_faults.c

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

// What a handler reads memory by, in system_faults.c

/// Has process_vm_readv(2) fail with EPERM from now on, by a seccomp filter; returns 0 or an error number.
int hf_refuse_memory_reads(void);
/// Puts something else in place of each open file of proc_pid_mem(5); returns how many there were.
int hf_close_memory_files(void);

// C++, in cxx_faults.cpp

/// Calls `std::terminate` without an exception: SIGABRT.
void faultCxxTerminate(void);

/// Runs the undefined instruction in the initialiser of a static variable of a function, once: SIGILL.
void faultStaticInitializer(void);
/// Runs the undefined instruction while an exception is being handled: SIGILL.
void faultExceptionState(void);

// ---------------------------------------------------------------------------------------------------------------------
// Faults that the kernel raises for what a process asks of it, and a sandbox for tests. What is set here stays set until the process
// ends, across execve(2), too.

/// Makes a system call that a seccomp filter answers with SIGSYS, SYS_SECCOMP.
void faultForbiddenCall(void);
/// Writes behind the limit of a file's size (RLIMIT_FSIZE, set to 1 GiB): SIGXFSZ.
void faultFileSize(void);
/// Has the processor time that a process may use be over (RLIMIT_CPU), and works until the kernel says so: SIGXCPU.
void faultProcessorTime(void);

/// Runs the instruction that stops a processor, which only the kernel may: SIGSEGV, SI_KERNEL.
void faultHalt(void);
/// Asks for an interrupt that programs may not use: SIGSEGV, SI_KERNEL.
void faultInterrupt(void);

/// Takes /proc away, in a mount namespace of the process's own. Returns whether it is gone.
bool hf_sandbox_hide_processes(void);

/// Has a system call fail with an `errno`, as a sandbox does that does not know it. Returns whether the kernel took the filter.
bool hf_sandbox_refuse(int number, int error);

/// Has a process that calls fcntl(2) with a descriptor of `first` or above be killed. Returns whether the kernel took the filter.
bool hf_sandbox_forbid_descriptors(unsigned first);

/// Becomes another user for good, who may still read the memory of this process. Returns whether it did.
bool hf_sandbox_become(unsigned user);

/// Has the kernel refuse new threads (RLIMIT_NPROC), or not any more; not for root. Returns whether the limit was set.
bool hf_sandbox_refuse_threads(bool refuse);

// ---------------------------------------------------------------------------------------------------------------------
// State that a thread, or the C++ runtime, keeps outside of the stack: how to leave it half done, and how to look at it afterwards.

// C++, in cxx_faults.cpp

/// Uses a function-local `static`, in whose initialiser the first call runs the undefined instruction: SIGILL.
void trapInStaticInitialiser(void);
/// Uses a function-local `static` whose initialiser throws at the first call, then one that is made: nothing is held afterwards.
void useStaticsThatAreMade(void);
/// Uses a `thread_local` variable of namespace scope, in whose initialiser the first call runs the undefined instruction: SIGILL.
void trapInThreadLocalInitialiser(void);
/// What that variable has, which its initialiser would have made 42.
int valueOfThreadLocal(void);
/// Runs the undefined instruction in a catch clause: SIGILL.
void trapInCatchClause(void);
/// Runs the undefined instruction in a destructor that an exception calls on its way up: SIGILL.
void trapWhileUnwinding(void);
/// Whether `std::current_exception()` has one.
bool hasCurrentException(void);
/// What `std::uncaught_exceptions()` says.
int countUncaughtExceptions(void);
/// Calls a function in a catch clause.
void callInCatchClause(void (*body)(void *), void *argument);

// Swift, in system_faults.c

/// Binds a task-local value, which must be of a copyable type, as `TaskLocal.withValue` does, and does not unbind it.
void bindTaskLocal(const void *key, void *value, const void *type);

// Processor flags, in system_faults.c

/// Sets the trap flag, with which each instruction ends in a SIGTRAP.
void trapByTrapFlag(void);
/// Sets the flag of alignment checks, and the one by which string instructions go down, and runs the undefined instruction: SIGILL.
void trapWithAlignmentChecks(void);
/// The processor's flags.
unsigned long processorFlags(void);

// Signal masks, in system_faults.c

/// Blocks all signals of the calling thread by the kernel's own call, which nobody stands before.
void blockSignalsByKernel(void);
/// Waits for a signal with a mask, a `sigset_t`, for ten seconds at most.
void waitWithSignalMask(const void *mask);
/// Waits like that by epoll_pwait2(2).
void waitByEpollWithSignalMask(const void *mask);
/// Blocks the first 32 signals by sigblock(3), sigsetmask(3), sighold(3) and sigset(3).
void blockSignalsByOldCalls(void);
/// Whether the calling thread blocks any of SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV and SIGSYS.
bool blocksFaultSignals(void);

// Threads that the C library makes by itself, in system_faults.c

/// Calls a function on a thread of C11.
void callOnThreadOfC11(void (*function)(void));
/// Calls a function on the thread of a timer (SIGEV_THREAD).
void callOnThreadOfTimer(void (*function)(void));
/// Has children begin a PID namespace of their own (unshare(2)); false where that is not allowed.
bool beginProcessNamespace(void);

#ifdef __cplusplus
}
#endif
