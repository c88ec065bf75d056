// The way out of a process that is neither resumed nor restarted: the end that the signal asks for.

#include "async_signals.h"
#include "async_state.h"
#include "async_syscalls.h"

#include <stddef.h>
#include <ucontext.h>

static void set_default_action(int signal) {
    HFKernelAction action = {.handler = (uintptr_t)SIG_DFL};
    HF_SYSCALL4(SYS_rt_sigaction, signal, &action, 0, HF_KERNEL_SIGSET_SIZE);
}

/// Calls a handler with the signal mask that the kernel would have given it (sigaction(2)). Swift's backtracer, for one, probes
/// memory under handlers of its own for SIGSEGV and SIGBUS: with those blocked, its first probe killed the process.
static void call_with_own_mask(const struct sigaction *action, int signal, siginfo_t *info, void *context) {
    const ucontext_t *interrupted = context;
    uint64_t mask = 0;
    uint64_t added = 0;
    __builtin_memcpy(&mask, &interrupted->uc_sigmask, sizeof mask);
    __builtin_memcpy(&added, &action->sa_mask, sizeof added);
    mask |= added;
    mask |= (action->sa_flags & SA_NODEFER) != 0 ? 0 : 1ULL << (signal - 1);
    HF_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, HF_KERNEL_SIGSET_SIZE);
    if ((action->sa_flags & SA_SIGINFO) != 0) {
        action->sa_sigaction(signal, info, context);
    } else {
        action->sa_handler(signal);
    }
}

static void call_previous_handler(int signal, siginfo_t *info, void *context) {
    for (int i = 0; i < HF_REPORTED_SIGNAL_COUNT; i += 1) {
        if (hf_async_fault_signals[i] != signal) {
            continue;
        }
        const struct sigaction *previous = &hf_capture_state.previous[i];
        if (previous->sa_handler != SIG_DFL && previous->sa_handler != SIG_IGN) {
            call_with_own_mask(previous, signal, info, context);
        }
    }
}

/// Ends the process by the default action of a signal.
_Noreturn static void end_by(int signal, const siginfo_t *info) {
    set_default_action(signal);
    hf_async_queue_to_self(signal, info);
    uint64_t mask = ~(1ULL << (signal - 1));
    HF_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, HF_KERNEL_SIGSET_SIZE);
    // Only process 1 of a container comes here: the default action of a signal that it sends itself is nothing (pid_namespaces(7)).
    HF_SYSCALL1(SYS_exit_group, 128 + signal);
    __builtin_unreachable();
}

/// The pid of the process that ends as a signal says: a second fault of it skips the earlier handlers. A pid and not a flag, because a
/// vfork(2) child shares this memory.
static _Atomic(int32_t) terminating;

bool hf_async_is_terminating(void) {
    return atomic_load_explicit(&terminating, memory_order_acquire) == hf_async_process();
}

void hf_async_terminate(int signal, siginfo_t *info, void *context) {
    // A fault of the earlier handler comes back here, and must not call it again.
    int32_t process = hf_async_process();
    if (atomic_exchange_explicit(&terminating, process, memory_order_acq_rel) != process) {
        call_previous_handler(signal, info, context);
    }
    // Whatever that handler did, the process ends now, as the signal says: an outer supervisor and a core dump see the truth. If the fault
    // happened again instead, another thread might have repaired its cause meanwhile. So the siginfo is queued again; the kernel lets a
    // process send itself any code (kernel/signal.c, do_rt_tgsigqueueinfo).
    end_by(signal, info);
}

void hf_async_end_by_order(int signal) {
    siginfo_t info;
    __builtin_memset(&info, 0, sizeof info);
    info.si_signo = signal;
    info.si_code = SI_TKILL;
    info.si_pid = (int32_t)HF_SYSCALL0(SYS_getpid);
    info.si_uid = (uint32_t)HF_SYSCALL0(SYS_getuid);
    end_by(signal, &info);
}
