#ifndef HF_STATE_INJECTION_H
#define HF_STATE_INJECTION_H

// State that a thread, or the C++ runtime, keeps outside of the stack: how to leave it half done, and how to look at it afterwards.

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

// C++, in state_hazards.cpp

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

// Swift, in state_hazards.c

/// Binds a task-local value, which must be of a copyable type, as `TaskLocal.withValue` does, and does not unbind it.
void bindTaskLocal(const void *key, void *value, const void *type);

// Processor flags, in state_hazards.c

/// Sets the trap flag, with which each instruction ends in a SIGTRAP.
void trapByTrapFlag(void);
/// Sets the flag of alignment checks, and the one by which string instructions go down, and runs the undefined instruction: SIGILL.
void trapWithAlignmentChecks(void);
/// The processor's flags.
unsigned long processorFlags(void);

// Signal masks, in state_hazards.c

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

// Threads that the C library makes by itself, in state_hazards.c

/// Calls a function on a thread of C11.
void callOnThreadOfC11(void (*function)(void));
/// Calls a function on the thread of a timer (SIGEV_THREAD).
void callOnThreadOfTimer(void (*function)(void));
/// Has children begin a PID namespace of their own (unshare(2)); false where that is not allowed.
bool beginProcessNamespace(void);

#ifdef __cplusplus
}
#endif

#endif
