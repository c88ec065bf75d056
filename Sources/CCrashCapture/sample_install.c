// Taking the signal of samples and giving it back. Ordinary code: nothing here runs in a handler.

#include "async_sample.h"
#include "async_state.h"
#include "signal_action.h"
#include "thread_sampling.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

bool hf_sample_owns_signal(void) { return atomic_load_explicit(&hf_sample_state.owns_signal, memory_order_relaxed); }

int hf_sample_install(bool wanted) {
    if (!wanted) {
        atomic_store(&hf_sample_state.owns_signal, false);
        return 0;
    }
    // Ignored is as good as free: a restart whose sampler was stopped leaves it so, and execve(2) keeps it.
    uintptr_t handler = hf_signal_action(HF_SAMPLE_SIGNAL).handler;
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
    int error = hf_signal_set_handler(HF_SAMPLE_SIGNAL, hf_async_handle_sample);
    if (error != 0) {
        return error;
    }
    hf_sample_state.action = hf_signal_action(HF_SAMPLE_SIGNAL);
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
    if (hf_signal_action(HF_SAMPLE_SIGNAL).handler == (uintptr_t)hf_async_handle_sample) {
        // To ignore it takes back what is pending, of which the process would die (sigaction(2)).
        signal(HF_SAMPLE_SIGNAL, SIG_IGN);
        signal(HF_SAMPLE_SIGNAL, SIG_DFL);
    }
}
