// Notices orders to end (SIGTERM, SIGINT) that the program takes itself, by standing before the functions that take signals.
//
// Servers with an async main end by a signal source of libdispatch's (swift-service-lifecycle, UnixSignals). On Linux that is a signalfd,
// and a handler that sends the signal on to the thread which reads it (libdispatch, src/event/event_epoll.c). Others have a handler, or wait
// in sigwait(3) (signal_mask.c). A signal that one of them has taken is gone from the kernel: a restart would lose it.
//
// Ordinary code, called at any time: also before main, and in a forked child.

#include "order_tracking.h"
#include "async_orders.h"
#include "async_signals.h"
#include "interposition.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/types.h>
#include <unistd.h>

#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

// MARK: Handlers

static bool is_handler(uintptr_t handler) {
    return handler != (uintptr_t)SIG_DFL && handler != (uintptr_t)SIG_IGN && handler != (uintptr_t)SIG_ERR &&
           // Observed signals are events: what is taken of them is noted there.
           handler != (uintptr_t)hf_async_handle_signal && handler != (uintptr_t)hf_async_discard_signal;
}

int hf_order_set_action(HFSetAction set, int signal, const struct sigaction *action, struct sigaction *before) {
    if (!hf_async_is_order(signal)) {
        return set(signal, action, before);
    }
    uintptr_t former = hf_async_order_handler(signal);
    bool stands_before = action != NULL && is_handler((uintptr_t)action->sa_sigaction);
    struct sigaction copy;
    if (stands_before) {
        // The handler first: the signal may come at once.
        former = hf_async_exchange_order_handler(signal, (uintptr_t)action->sa_sigaction);
        copy = *action;
        copy.sa_sigaction = hf_async_take_own_order;
        action = &copy;
    }
    int result = set(signal, action, before);
    if (result != 0) {
        if (stands_before) {
            hf_async_exchange_order_handler(signal, former);
        }
        return result;
    }
    if (before != NULL && before->sa_sigaction == hf_async_take_own_order) {
        before->sa_sigaction = (void (*)(int, siginfo_t *, void *))former;
    }
    return result;
}

/// The C library's own calls its own sigaction (sysdeps/posix/signal.c).
void (*signal(int number, void (*handler)(int)))(int) {
    void (*ours)(int) = (void (*)(int))(uintptr_t)hf_async_take_own_order;
    if (!hf_async_is_order(number)) {
        return HF_NEXT(signal)(number, handler);
    }
    bool stands_before = is_handler((uintptr_t)handler);
    uintptr_t former = stands_before ? hf_async_exchange_order_handler(number, (uintptr_t)handler)
                                     : hf_async_order_handler(number);
    void (*before)(int) = HF_NEXT(signal)(number, stands_before ? ours : handler);
    if (before == SIG_ERR && stands_before) {
        hf_async_exchange_order_handler(number, former);
    }
    return before == ours ? (void (*)(int))former : before;
}

// MARK: Waits

void hf_order_note_wait(int signal) {
    if (hf_async_is_order(signal)) {
        hf_async_tell_own_order(signal);
    }
}

// MARK: Descriptors of signals

/// The descriptors of signals that may read an order, plus 1; 0 for none. Programs have one or two.
static _Atomic(int) descriptors[8];
enum { place_count = sizeof descriptors / sizeof *descriptors };
/// Whether there ever was one: all others pay one load in each read(2).
static _Atomic(bool) has_descriptors;

static _Atomic(int) *place_of(int descriptor) {
    for (int i = 0; i < place_count; i += 1) {
        if (atomic_load_explicit(&descriptors[i], memory_order_acquire) == descriptor + 1) {
            return &descriptors[i];
        }
    }
    return NULL;
}

static void note_descriptor(int descriptor) {
    for (int i = 0; i < place_count; i += 1) {
        int none = 0;
        if (atomic_compare_exchange_strong(&descriptors[i], &none, descriptor + 1)) {
            atomic_store_explicit(&has_descriptors, true, memory_order_release);
            return;
        }
    }
}

int signalfd(int descriptor, const sigset_t *mask, int flags) {
    int result = HF_NEXT(signalfd)(descriptor, mask, flags);
    if (result < 0) {
        return result;
    }
    bool has_order = sigismember(mask, SIGTERM) == 1 || sigismember(mask, SIGINT) == 1;
    _Atomic(int) *place = place_of(result);
    if (place == NULL && has_order) {
        note_descriptor(result);
    } else if (place != NULL && !has_order) {
        atomic_store_explicit(place, 0, memory_order_release);
    }
    return result;
}

/// Whether a descriptor is one of signals: the noted one may have been closed, and its number be another file's.
static bool is_of_signals(int descriptor) {
    char path[64];
    char target[64];
    static const char expected[] = "anon_inode:[signalfd]";
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(path, target, sizeof target);
    return length == (ssize_t)(sizeof expected - 1) && memcmp(target, expected, sizeof expected - 1) == 0;
}

static ssize_t read_signals(_Atomic(int) *place, int descriptor, void *buffer, size_t size) {
    ssize_t count = HF_NEXT(read)(descriptor, buffer, size);
    int error = errno;
    size_t whole = count > 0 ? (size_t)count / sizeof(struct signalfd_siginfo) : 0;
    if (whole > 0 && !is_of_signals(descriptor)) {
        int noted = descriptor + 1;
        atomic_compare_exchange_strong(place, &noted, 0);
        whole = 0;
    }
    for (size_t i = 0; i < whole; i += 1) {
        uint32_t number;
        const char *information = (const char *)buffer + i * sizeof(struct signalfd_siginfo);
        memcpy(&number, information + offsetof(struct signalfd_siginfo, ssi_signo), sizeof number);
        hf_order_note_wait((int)number);
    }
    errno = error;
    return count;
}

ssize_t read(int descriptor, void *buffer, size_t size) {
    if (atomic_load_explicit(&has_descriptors, memory_order_relaxed)) {
        _Atomic(int) *place = place_of(descriptor);
        if (place != NULL) {
            return read_signals(place, descriptor, buffer, size);
        }
    }
    // No frame of ours stays: whoever walks a stack finds the library's function called by the program itself.
    __attribute__((musttail)) return HF_NEXT(read)(descriptor, buffer, size);
}

/// read(2) may be called in a handler (signal-safety(7)), so the function behind it is looked up now.
__attribute__((constructor)) static void find_next(void) {
    char byte;
    read(-1, &byte, 0);
    errno = 0;
}

#endif
