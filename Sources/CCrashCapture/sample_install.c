// Taking the signal of samples and giving it back. Ordinary code: nothing here runs in a handler.

#include "async_sample.h"
#include "async_state.h"
#include "thread_sampling.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static HFKernelAction current_action(void) {
    HFKernelAction action;
    memset(&action, 0, sizeof action);
    syscall(SYS_rt_sigaction, HF_SAMPLE_SIGNAL, NULL, &action, HF_KERNEL_SIGSET_SIZE);
    return action;
}

bool hf_sample_owns_signal(void) { return atomic_load_explicit(&hf_sample_state.owns_signal, memory_order_relaxed); }

int hf_sample_install(bool wanted) {
    if (!wanted) {
        atomic_store(&hf_sample_state.owns_signal, false);
        return 0;
    }
    // Ignored is as good as free: a restart whose sampler was stopped leaves it so, and execve(2) keeps it.
    uintptr_t handler = current_action().handler;
    if (handler != (uintptr_t)SIG_DFL && handler != (uintptr_t)SIG_IGN) {
        atomic_store(&hf_sample_state.owns_signal, false);
        atomic_store(&hf_sample_state.obstacle, HF_SAMPLING_SIGNAL_TAKEN);
        return EBUSY;
    }
    atomic_store(&hf_sample_state.owns_signal, true);
    // Without one, it is tried again when it is needed.
    if (atomic_load(&hf_sample_state.tasks) < 0) {
        atomic_store(&hf_sample_state.tasks, open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = hf_async_handle_sample;
    // SA_RESTART: what can go on after a signal does. SA_ONSTACK: the thread may be about to use up its own.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    // No other handler runs on a stack that is being walked. But a fault must still be seen.
    sigfillset(&action.sa_mask);
    for (int i = 0; i < HF_FAULT_SIGNAL_COUNT; i += 1) {
        sigdelset(&action.sa_mask, hf_async_fault_signals[i]);
    }
    if (sigaction(HF_SAMPLE_SIGNAL, &action, NULL) != 0) {
        return errno;
    }
    hf_sample_state.action = current_action();
    // Whoever started this process may have blocked it.
    uint64_t signals = 1ULL << (HF_SAMPLE_SIGNAL - 1);
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &signals, NULL, HF_KERNEL_SIGSET_SIZE);
    atomic_store(&hf_sample_state.installed, true);
    return 0;
}

void hf_sample_uninstall(void) {
    if (!atomic_exchange(&hf_sample_state.installed, false)) {
        return;
    }
    atomic_store(&hf_sample_state.owns_signal, false);
    if (current_action().handler == (uintptr_t)hf_async_handle_sample) {
        // To ignore it takes back what is pending, of which the process would die (sigaction(2)).
        signal(HF_SAMPLE_SIGNAL, SIG_IGN);
        signal(HF_SAMPLE_SIGNAL, SIG_DFL);
    }
}
