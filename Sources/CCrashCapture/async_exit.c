// The two ways out of a process that is not resumed: a fresh one in its place, or the end that the signal asks for.

#include "async_state.h"
#include "async_syscalls.h"

#include <fcntl.h>
#include <stddef.h>
#include <ucontext.h>

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

void hf_async_restart(void) {
    const HFCaptureConfiguration *configuration = &hf_capture_state.configuration;
    const HFRestartPlan *plan = atomic_load_explicit(&hf_capture_state.restart_plan, memory_order_acquire);
    if (configuration->executable == NULL || configuration->arguments == NULL || plan == NULL) {
        return;
    }
    // Everything but the standard three and what is marked to be kept closes, whoever opened it.
    HF_SYSCALL3(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
    for (uint32_t i = 0; i < plan->descriptor_count; i += 1) {
        HF_SYSCALL3(SYS_fcntl, plan->descriptors[i], F_SETFD, 0);
    }
    // execve(2) keeps the signal mask: a process that begins with the fault signals blocked would die unreported. The observed
    // ones wait until it has handlers for them again (hf_signal_release): by default it would die of a SIGHUP now.
    uint64_t before = 0;
    uint64_t mask = hf_capture_state.initial_mask |
                    atomic_load_explicit(&hf_capture_state.observed_signals, memory_order_relaxed);
    HF_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, HF_KERNEL_SIGSET_SIZE);
    HF_SYSCALL3(SYS_execve, configuration->executable, configuration->arguments, plan->environment);
    if (configuration->fallback_executable != NULL) {
        HF_SYSCALL3(SYS_execve, configuration->fallback_executable, configuration->arguments, plan->environment);
    }
    HF_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, HF_KERNEL_SIGSET_SIZE);
}

/// The layout that rt_sigaction(2) takes, which is not that of glibc.
typedef struct KernelAction {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
} KernelAction;

static void set_default_action(int signal) {
    KernelAction action = {.handler = SIG_DFL};
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
    for (int i = 0; i < HF_FAULT_SIGNAL_COUNT; i += 1) {
        if (hf_async_fault_signals[i] != signal) {
            continue;
        }
        const struct sigaction *previous = &hf_capture_state.previous[i];
        if (previous->sa_handler != SIG_DFL && previous->sa_handler != SIG_IGN) {
            call_with_own_mask(previous, signal, info, context);
        }
    }
}

void hf_async_terminate(int signal, siginfo_t *info, void *context) {
    // A fault of that handler comes back here, and must not begin again.
    int32_t pid = (int32_t)HF_SYSCALL0(SYS_getpid);
    if (atomic_exchange_explicit(&hf_capture_state.terminating, pid, memory_order_acq_rel) != pid) {
        call_previous_handler(signal, info, context);
    }
    // Whatever that handler did, the process ends now, and as the signal says: an outer supervisor and a core dump see the
    // truth. A re-executed fault could be repaired by another thread meanwhile, so the siginfo is queued again instead;
    // the kernel lets a process send itself any code (kernel/signal.c, do_rt_tgsigqueueinfo).
    set_default_action(signal);
    long thread = HF_SYSCALL0(SYS_gettid);
    HF_SYSCALL4(SYS_rt_tgsigqueueinfo, pid, thread, signal, info);
    uint64_t mask = ~(1ULL << (signal - 1));
    HF_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, HF_KERNEL_SIGSET_SIZE);
    // Only process 1 of a container comes here: for it the default action of a signal from itself is nothing
    // (pid_namespaces(7)).
    HF_SYSCALL1(SYS_exit_group, 128 + signal);
    __builtin_unreachable();
}
