// Keeps the signals of faults and the one for samples out of every thread's mask, by standing before the functions that set one.
//
// If a thread faults while it blocks the fault's signal, the kernel kills it at once (kernel/signal.c, force_sig_info_to_task), without a
// report. Threads that leave signals to others block all of them. Threads of libdispatch, and with them those of Swift's pool, block all
// but a few (src/queue.c, _dispatch_sigmask): they would be in no sample. glibc keeps its own two signals out of masks in the same way
// (sysdeps/unix/sysv/linux/internal-signals.h).
//
// Ordinary code, called at any time: also before main, and in a forked child.

#include "interposition.h"
#include "order_tracking.h"
#include "recovery_point.h"
#include "thread_sampling.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

/// The signals that the kernel raises for an instruction. Not SIGABRT: abort(3) unblocks it first.
static const int fault_signals[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};

enum { fault_signal_count = sizeof fault_signals / sizeof *fault_signals };

/// A mask in the kernel's form.
static uint64_t bits_of(const sigset_t *set) {
    uint64_t bits = 0;
    memcpy(&bits, set, sizeof bits);
    return bits;
}

static uint64_t fault_bits(void) {
    uint64_t bits = 0;
    for (int i = 0; i < fault_signal_count; i += 1) {
        bits |= 1ULL << (fault_signals[i] - 1);
    }
    return bits;
}

void hf_unblock_fault_signals(void) {
    uint64_t signals = fault_bits();
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &signals, NULL, sizeof signals);
}

#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

static const sigset_t *without(uint64_t unwanted, const sigset_t *set, sigset_t *copy) {
    if (set == NULL || (bits_of(set) & unwanted) == 0) {
        return set;
    }
    uint64_t bits = bits_of(set) & ~unwanted;
    *copy = *set;
    memcpy(copy, &bits, sizeof bits);
    return copy;
}

static uint64_t sample_bit(void) { return hf_sample_owns_signal() ? 1ULL << (HF_SAMPLE_SIGNAL - 1) : 0; }

/// Returns a mask without the signals that must come through.
static const sigset_t *let_through(const sigset_t *set, sigset_t *copy) {
    return without(fault_bits() | sample_bit(), set, copy);
}

// Found by name in one place each.
static __typeof__(&sigaction) next_sigaction(void) { return HF_NEXT(sigaction); }
static __typeof__(&sigsuspend) next_sigsuspend(void) { return HF_NEXT(sigsuspend); }
static __typeof__(&pselect) next_pselect(void) { return HF_NEXT(pselect); }

typedef int (*HFChangeMask)(int, const sigset_t *restrict, sigset_t *restrict);

/// Changes the mask, and notes the former one in case the running callout is abandoned.
static int change_mask(HFChangeMask change, int how, const sigset_t *set, sigset_t *before) {
    sigset_t copy;
    sigset_t old;
    int result = change(how, how == SIG_UNBLOCK ? set : let_through(set, &copy), &old);
    if (result != 0) {
        return result;
    }
    HFRecoveryPoint *point = hf_current_recovery_point;
    if (set != NULL && point != NULL && (point->flags & HF_POINT_HAS_SIGNAL_MASK) == 0) {
        point->stack->signal_mask = bits_of(&old);
        point->flags |= HF_POINT_HAS_SIGNAL_MASK;
    }
    if (before != NULL) {
        *before = old;
    }
    return result;
}

int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict before) {
    return change_mask(HF_NEXT(pthread_sigmask), how, set, before);
}

int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict before) {
    return change_mask(HF_NEXT(sigprocmask), how, set, before);
}

// The C library's older functions call its own sigprocmask, not the one above (signal/sigblock.c, sigsetmask.c, sighold.c, sigset.c).

/// Takes a mask in the form of 4.2BSD, of the first 32 signals; returns the former one, or -1.
static int change_old_mask(int how, int mask) {
    sigset_t set;
    sigset_t before;
    sigemptyset(&set);
    memcpy(&set, &mask, sizeof mask);
    return sigprocmask(how, &set, &before) == 0 ? (int)bits_of(&before) : -1;
}

int sigblock(int mask) { return change_old_mask(SIG_BLOCK, mask); }

int sigsetmask(int mask) { return change_old_mask(SIG_SETMASK, mask); }

int sighold(int signal) {
    sigset_t set;
    sigemptyset(&set);
    return sigaddset(&set, signal) == 0 ? sigprocmask(SIG_BLOCK, &set, NULL) : -1;
}

void (*sigset(int signal, void (*handler)(int)))(int) {
    sigset_t set;
    sigset_t before;
    sigemptyset(&set);
    if (sigaddset(&set, signal) != 0) {
        return SIG_ERR;
    }
    bool holds = handler == SIG_HOLD;
    struct sigaction action = {.sa_handler = handler};
    struct sigaction old;
    if (sigaction(signal, holds ? NULL : &action, &old) != 0 ||
        sigprocmask(holds ? SIG_BLOCK : SIG_UNBLOCK, &set, &before) != 0) {
        return SIG_ERR;
    }
    return sigismember(&before, signal) == 1 ? SIG_HOLD : old.sa_handler;
}

// The masks of handlers, and those of waits in which handlers run.

int sigaction(int signal, const struct sigaction *restrict action, struct sigaction *restrict before) {
    bool is_fault = false;
    for (int i = 0; i < fault_signal_count; i += 1) {
        is_fault = is_fault || fault_signals[i] == signal;
    }
    // A handler of faults keeps its mask: if it faults itself, ours ends the process at once.
    if (action == NULL || is_fault || (bits_of(&action->sa_mask) & fault_bits()) == 0) {
        return hf_order_set_action(next_sigaction(), signal, action, before);
    }
    struct sigaction copy = *action;
    without(fault_bits(), &action->sa_mask, &copy.sa_mask);
    return hf_order_set_action(next_sigaction(), signal, &copy, before);
}

int sigsuspend(const sigset_t *mask) {
    sigset_t copy;
    return next_sigsuspend()(let_through(mask, &copy));
}

int ppoll(struct pollfd *descriptors, nfds_t count, const struct timespec *limit, const sigset_t *mask) {
    sigset_t copy;
    return HF_NEXT(ppoll)(descriptors, count, limit, let_through(mask, &copy));
}

int pselect(
    int count, fd_set *restrict read, fd_set *restrict write, fd_set *restrict except,
    const struct timespec *restrict limit, const sigset_t *restrict mask) {
    sigset_t copy;
    return next_pselect()(count, read, write, except, limit, let_through(mask, &copy));
}

int epoll_pwait(int epoll, struct epoll_event *events, int most, int limit, const sigset_t *mask) {
    sigset_t copy;
    return HF_NEXT(epoll_pwait)(epoll, events, most, limit, let_through(mask, &copy));
}

#if __GLIBC_PREREQ(2, 35)
int epoll_pwait2(int epoll, struct epoll_event *events, int most, const struct timespec *limit, const sigset_t *mask) {
    sigset_t copy;
    return HF_NEXT(epoll_pwait2)(epoll, events, most, limit, let_through(mask, &copy));
}
#endif

// A wait takes a signal of its set before any handler does, even if it is not blocked (kernel/signal.c, do_sigtimedwait). A thread that
// waits for all signals, as threads for signals do, would get the one for samples.

int sigwait(const sigset_t *restrict set, int *restrict signal) {
    sigset_t copy;
    int result = HF_NEXT(sigwait)(without(sample_bit(), set, &copy), signal);
    if (result == 0) {
        hf_order_note_wait(*signal);
    }
    return result;
}

int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info) {
    sigset_t copy;
    int signal = HF_NEXT(sigwaitinfo)(without(sample_bit(), set, &copy), info);
    hf_order_note_wait(signal);
    return signal;
}

int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info, const struct timespec *restrict limit) {
    sigset_t copy;
    int signal = HF_NEXT(sigtimedwait)(without(sample_bit(), set, &copy), info, limit);
    hf_order_note_wait(signal);
    return signal;
}

/// These may be called in a handler (signal-safety(7)), so the functions behind them are looked up now.
__attribute__((constructor)) static void find_next(void) {
    pthread_sigmask(SIG_BLOCK, NULL, NULL);
    sigprocmask(SIG_BLOCK, NULL, NULL);
    (void)next_sigaction();
    (void)next_sigsuspend();
    (void)next_pselect();
}

#endif
