// Taking signals and giving them back: those that the program observes, and the one for samples. Ordinary code: nothing here runs in a
// handler.

#include "async_handler.h"
#include "async_sample.h"
#include "async_signals.h"
#include "async_state.h"
#include "signal_events.h"
#include "thread_sampling.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// MARK: Actions

/// The action in the kernel's form: with the C library's restorer, so that it can be set again without the library.
static HFKernelAction action_of(int signal) {
    HFKernelAction action;
    memset(&action, 0, sizeof action);
    syscall(SYS_rt_sigaction, signal, NULL, &action, HF_KERNEL_SIGSET_SIZE);
    return action;
}

/// Installs a handler that only a fault interrupts. Returns 0 or an errno value.
static int set_handler(int signal, void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    // SA_RESTART: system calls that can go on after a signal do. SA_ONSTACK: the thread may be about to use up its own stack.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigfillset(&action.sa_mask);
    // A fault of the handler must still be seen.
    for (int i = 0; i < HF_FAULT_SIGNAL_COUNT; i += 1) {
        sigdelset(&action.sa_mask, hf_async_fault_signals[i]);
    }
    return sigaction(signal, &action, NULL) == 0 ? 0 : errno;
}

// MARK: Observed signals

_Static_assert(sizeof(uint64_t) == HF_KERNEL_SIGSET_SIZE, "a set of signals is a word");

static uint64_t bit(int signal) { return 1ULL << (signal - 1); }

static bool is_fault(int signal) {
    for (int i = 0; i < HF_FAULT_SIGNAL_COUNT; i += 1) {
        if (hf_async_fault_signals[i] == signal) {
            return true;
        }
    }
    return false;
}

HFSignalObstacle hf_signal_obstacle(int signal) {
    if (signal < 1 || signal > HF_HIGHEST_SIGNAL) {
        return HFSignalObstacleNoSignal;
    }
    if (is_fault(signal)) {
        return HFSignalObstacleFault;
    }
    if (signal == SIGKILL || signal == SIGSTOP) {
        return HFSignalObstacleKernel;
    }
    // nptl(7): 32 cancels threads, 33 keeps the user ids of all threads alike.
    if (signal >= __SIGRTMIN && signal < SIGRTMIN) {
        return HFSignalObstacleLibrary;
    }
    if (signal == HF_SAMPLE_SIGNAL && atomic_load(&hf_sample_state.installed)) {
        return HFSignalObstacleSamples;
    }
    return HFSignalObstacleNone;
}

static bool is_ours(const HFKernelAction *action) {
    return action->handler == (uintptr_t)hf_async_handle_signal ||
           action->handler == (uintptr_t)hf_async_discard_signal;
}

static void take_over_in_child(void) {
    int32_t pid = hf_async_process();
    int32_t before = atomic_load(&hf_signal_state.pid);
    if (before == pid) {
        return;
    }
    if (before != 0) {
        // The events in the ring are the parent's.
        hf_signal_reset_ring();
        atomic_store(&hf_signal_state.running, 0);
        for (int signal = 1; signal <= HF_HIGHEST_SIGNAL; signal += 1) {
            atomic_store(&hf_signal_state.descriptors[signal], 0);
        }
    }
    atomic_store(&hf_signal_state.pid, pid);
}

/// Remembers the former action, unless ours is in place already.
static void remember(int signal) {
    HFKernelAction action = action_of(signal);
    if (is_ours(&action)) {
        return;
    }
    hf_signal_state.previous[signal] = action;
}

static void give_back(int signal) {
    HFKernelAction action = action_of(signal);
    if (is_ours(&action)) {
        syscall(SYS_rt_sigaction, signal, &hf_signal_state.previous[signal], NULL, HF_KERNEL_SIGSET_SIZE);
    }
}

static uint64_t change_mask(int how, uint64_t signals) {
    uint64_t before = 0;
    syscall(SYS_rt_sigprocmask, how, &signals, &before, HF_KERNEL_SIGSET_SIZE);
    return before;
}

int hf_signal_observe(int signal, int descriptor) {
    if (hf_signal_obstacle(signal) != HFSignalObstacleNone || descriptor < 0) {
        return EINVAL;
    }
    take_over_in_child();
    bool is_observed = atomic_load(&hf_signal_state.descriptors[signal]) != 0;
    remember(signal);
    atomic_store(&hf_signal_state.descriptors[signal], descriptor + 1);
    if (hf_signal_state.previous[signal].handler == (uintptr_t)SIG_IGN) {
        atomic_fetch_or(&hf_signal_state.ignored_before, bit(signal));
    }
    int error = set_handler(signal, hf_async_handle_signal);
    if (error != 0) {
        atomic_store(&hf_signal_state.descriptors[signal], 0);
        atomic_fetch_and(&hf_signal_state.ignored_before, ~bit(signal));
        return error;
    }
    hf_signal_state.action = action_of(signal);
    atomic_fetch_or(&hf_signal_state.observed, bit(signal));
    uint64_t blocked = change_mask(SIG_UNBLOCK, bit(signal)) & ~hf_capture_state.configuration.held_signals;
    if (!is_observed) {
        hf_signal_state.blocked_before = (hf_signal_state.blocked_before & ~bit(signal)) | (blocked & bit(signal));
    }
    return 0;
}

void hf_signal_give_up(void) {
    for (int signal = 1; signal <= HF_HIGHEST_SIGNAL; signal += 1) {
        if (atomic_load(&hf_signal_state.descriptors[signal]) != 0) {
            give_back(signal);
        }
    }
}

void hf_signal_take_up(void) {
    for (int signal = 1; signal <= HF_HIGHEST_SIGNAL; signal += 1) {
        if (atomic_load(&hf_signal_state.descriptors[signal]) != 0) {
            set_handler(signal, hf_async_handle_signal);
        }
    }
}

void hf_signal_stop(int signal) {
    if (hf_signal_obstacle(signal) != HFSignalObstacleNone ||
        atomic_exchange(&hf_signal_state.descriptors[signal], 0) == 0) {
        return;
    }
    // Blocked first: the former action may be the end of the process.
    change_mask(SIG_BLOCK, hf_signal_state.blocked_before & bit(signal));
    atomic_fetch_and(&hf_signal_state.ignored_before, ~bit(signal));
    if ((hf_signal_state.discarded & bit(signal)) != 0) {
        HFKernelAction action = action_of(signal);
        if (is_ours(&action)) {
            set_handler(signal, hf_async_discard_signal);
        }
    } else {
        give_back(signal);
        atomic_fetch_and(&hf_signal_state.observed, ~bit(signal));
    }
    // A handler on another thread may be about to write to the eventfd, which its owner may close after this call.
    while (atomic_load(&hf_signal_state.pid) == hf_async_process() && atomic_load(&hf_signal_state.running) != 0) {
        sched_yield();
    }
}

int hf_signal_discard(int signal) {
    if (hf_signal_obstacle(signal) != HFSignalObstacleNone) {
        return EINVAL;
    }
    take_over_in_child();
    remember(signal);
    bool is_observed = atomic_load(&hf_signal_state.descriptors[signal]) != 0;
    if (hf_signal_state.previous[signal].handler == (uintptr_t)SIG_IGN) {
        return 0;
    }
    int error = is_observed ? 0 : set_handler(signal, hf_async_discard_signal);
    if (error == 0) {
        hf_signal_state.discarded |= bit(signal);
        // Held back across a restart, like observed signals: by default the process would die of it.
        atomic_fetch_or(&hf_signal_state.observed, bit(signal));
    }
    return error;
}

void hf_signal_restore(int signal) {
    if (hf_signal_obstacle(signal) != HFSignalObstacleNone || (hf_signal_state.discarded & bit(signal)) == 0) {
        return;
    }
    hf_signal_state.discarded &= ~bit(signal);
    if (atomic_load(&hf_signal_state.descriptors[signal]) == 0) {
        give_back(signal);
        atomic_fetch_and(&hf_signal_state.observed, ~bit(signal));
    }
}

void hf_signal_let_through(void) {
    uint64_t signals = atomic_load(&hf_signal_state.observed);
    for (int signal = 1; signal <= HF_HIGHEST_SIGNAL; signal += 1) {
        // Nobody waits for a discarded signal.
        if (atomic_load(&hf_signal_state.descriptors[signal]) == 0) {
            signals &= ~bit(signal);
        }
    }
    change_mask(SIG_UNBLOCK, signals);
}

bool hf_signal_is_order(int signal) { return hf_async_is_order(signal); }

int hf_signal_due_order(void) { return hf_async_due_order(); }

int hf_signal_own_order(void) { return hf_async_own_order(); }

void hf_signal_end_by(int signal) { hf_async_end_by_order(signal); }

void hf_signal_release(uint64_t signals) { change_mask(SIG_UNBLOCK, signals); }

uint64_t hf_signal_block_for_service(bool with_faults) {
    uint64_t signals = ~0ULL;
    for (int i = 0; i < HF_FAULT_SIGNAL_COUNT && !with_faults; i += 1) {
        signals &= ~bit(hf_async_fault_signals[i]);
    }
    // Swift's backtracer suspends threads by these (CrashHandlerLinux.cpp); the C library uses 32 and 33.
    signals &= ~(bit(SIGUSR1) | bit(SIGUSR2) | bit(SIGPROF) | bit(__SIGRTMIN) | bit(__SIGRTMIN + 1));
    // All threads are sampled.
    signals &= ~bit(HF_SAMPLE_SIGNAL);
    return change_mask(SIG_BLOCK, signals);
}

void hf_signal_unblock_faults(void) {
    uint64_t signals = 0;
    for (int i = 0; i < HF_FAULT_SIGNAL_COUNT; i += 1) {
        signals |= bit(hf_async_fault_signals[i]);
    }
    change_mask(SIG_UNBLOCK, signals);
}

void hf_signal_set_mask(uint64_t mask) { change_mask(SIG_SETMASK, mask); }

// MARK: The signal of samples

int hf_sample_install(bool wanted) {
    if (!wanted) {
        atomic_store(&hf_sample_state.owns_signal, false);
        return 0;
    }
    // Ignored is as good as free: a restart in place leaves the signal ignored, and execve(2) keeps that.
    uintptr_t handler = action_of(HF_SAMPLE_SIGNAL).handler;
    if (handler != (uintptr_t)SIG_DFL && handler != (uintptr_t)SIG_IGN) {
        atomic_store(&hf_sample_state.owns_signal, false);
        atomic_store(&hf_sample_state.obstacle, HF_SAMPLING_SIGNAL_TAKEN);
        return EBUSY;
    }
    atomic_store(&hf_sample_state.owns_signal, true);
    // Without a list, opening it is tried again when it is needed.
    int list = hf_async_exchange_thread_list(-1);
    hf_async_exchange_thread_list(list >= 0 ? list : open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    int error = set_handler(HF_SAMPLE_SIGNAL, hf_async_handle_sample);
    if (error != 0) {
        return error;
    }
    hf_sample_state.action = action_of(HF_SAMPLE_SIGNAL);
    // The process that started this one may have blocked it.
    change_mask(SIG_UNBLOCK, bit(HF_SAMPLE_SIGNAL));
    atomic_store(&hf_sample_state.installed, true);
    return 0;
}

void hf_sample_uninstall(void) {
    if (!atomic_exchange(&hf_sample_state.installed, false)) {
        return;
    }
    atomic_store(&hf_sample_state.owns_signal, false);
    if (action_of(HF_SAMPLE_SIGNAL).handler == (uintptr_t)hf_async_handle_sample) {
        // Ignoring a signal discards a pending one, of which the process would die (sigaction(2)).
        signal(HF_SAMPLE_SIGNAL, SIG_IGN);
        signal(HF_SAMPLE_SIGNAL, SIG_DFL);
    }
}
