// Keeps the signal of samples out of every thread's mask, and of what threads wait for, by standing before the functions of both.
//
// Threads of libdispatch, and with them those of Swift's pool, block all signals but a few (src/queue.c, _dispatch_sigmask): they
// would be in no report. glibc keeps its own two signals out of masks in the same way (sysdeps/unix/sysv/linux/internal-signals.h).
// Ordinary code, called at any time: also before main, and in a forked child.

#include "next_function.h"
#include "thread_sampling.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

static const sigset_t *without_sample(int how, const sigset_t *set, sigset_t *copy) {
    if (set == NULL || how == SIG_UNBLOCK || !hf_sample_owns_signal() || sigismember(set, HF_SAMPLE_SIGNAL) != 1) {
        return set;
    }
    *copy = *set;
    sigdelset(copy, HF_SAMPLE_SIGNAL);
    return copy;
}

int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict before) {
    sigset_t copy;
    return HF_NEXT(pthread_sigmask)(how, without_sample(how, set, &copy), before);
}

int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict before) {
    sigset_t copy;
    return HF_NEXT(sigprocmask)(how, without_sample(how, set, &copy), before);
}

// A wait takes a signal of its set before any handler does, also when it is not blocked (kernel/signal.c, do_sigtimedwait): a thread
// that waits for all of them, as threads for signals do, would be handed ours.

int sigwait(const sigset_t *restrict set, int *restrict signal) {
    sigset_t copy;
    return HF_NEXT(sigwait)(without_sample(SIG_BLOCK, set, &copy), signal);
}

int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info) {
    sigset_t copy;
    return HF_NEXT(sigwaitinfo)(without_sample(SIG_BLOCK, set, &copy), info);
}

int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info, const struct timespec *restrict limit) {
    sigset_t copy;
    return HF_NEXT(sigtimedwait)(without_sample(SIG_BLOCK, set, &copy), info, limit);
}

/// The first two may be called in a handler (signal-safety(7)): what they stand before is looked for now.
__attribute__((constructor)) static void find_next(void) {
    pthread_sigmask(SIG_BLOCK, NULL, NULL);
    sigprocmask(SIG_BLOCK, NULL, NULL);
}

#endif
