#ifndef HF_ASYNC_SIGNALS_H
#define HF_ASYNC_SIGNALS_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { HF_HIGHEST_SIGNAL = 64 };

/// How long a program that was told to end may take, in nanoseconds: systemd.service(5) allows as much by TimeoutStopSec.
static const uint64_t hf_order_patience = 90ULL * 1000 * 1000 * 1000;

/// The layout of rt_sigaction(2), which differs from glibc's.
typedef struct HFKernelAction {
    /// The address of a function, or SIG_DFL or SIG_IGN.
    uintptr_t handler;
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
} HFKernelAction;

/// What installing and handling share. Written by ordinary code, one thread at a time.
typedef struct HFSignalState {
    /// The process that observes, in the form of hf_async_process(): a forked child has a copy.
    _Atomic(int32_t) pid;
    /// The eventfd of each signal, plus 1; 0 for none.
    _Atomic(int) descriptors[HF_HIGHEST_SIGNAL + 1];
    /// How many handlers are running.
    _Atomic(uint32_t) running;
    /// Our action, in the kernel's form.
    HFKernelAction action;
    /// The earlier actions, by signal.
    HFKernelAction previous[HF_HIGHEST_SIGNAL + 1];
    /// Signals that are observed or discarded, as bits. They are held back across a restart: the next process would die of them.
    _Atomic(uint64_t) observed;
    /// Observed signals that were ignored before, as bits.
    _Atomic(uint64_t) ignored_before;
    /// Signals that the observing thread blocked before, as bits.
    uint64_t blocked_before;
    /// Signals that do nothing while they are not observed, as bits.
    uint64_t discarded;
    /// Orders to end that were taken and are not carried out yet, as bits.
    _Atomic(uint64_t) taken_orders;
    /// When each of them was taken last, in nanoseconds of CLOCK_MONOTONIC, by signal.
    _Atomic(uint64_t) order_times[SIGTERM + 1];
    /// Those among them that the program has taken by other means than events, as bits.
    _Atomic(uint64_t) own_orders;
} HFSignalState;

extern HFSignalState hf_signal_state;

/// The action of an observed signal. Safe to call from a signal handler: it is one.
void hf_async_handle_signal(int signal, siginfo_t *info, void *context);

/// The action of a discarded signal. Safe to call from a signal handler: it is one.
void hf_async_discard_signal(int signal, siginfo_t *info, void *context);

/// Forgets all events: a forked child that observes signals itself begins anew.
void hf_signal_reset_ring(void);

/// Blocks observed signals on the calling thread, and queues again those whose handlers were not called yet: both outlive execve(2).
///
/// Safe to call from a signal handler.
void hf_async_hold_signals(void);

/// Whether a signal is an order to end: SIGTERM or SIGINT. Safe to call from a signal handler.
bool hf_async_is_order(int signal);

/// The order to end that the process still has to carry out: one that waits, or that was taken within `hf_order_patience`; 0 for none.
///
/// Safe to call from a signal handler.
int hf_async_due_order(void);

/// Notes an order to end that the program has taken itself. Safe to call from a signal handler.
void hf_async_note_own_order(int signal);

/// The order to end that the program has taken itself within `hf_order_patience`, and carries out in its own way; 0 for none.
///
/// Safe to call from a signal handler.
int hf_async_own_order(void);

/// Whether an order to end waits for the thread that takes events. Safe to call from a signal handler.
bool hf_async_has_order(void);

/// Whether an order to end waits for that thread, or is blocked. Safe to call from a signal handler.
bool hf_async_is_order_pending(void);

/// Undoes hf_async_hold_signals(), except for the mask: the signals that it queued are not events any more.
///
/// For the thread that takes events, or one that ends the process. Safe to call from a signal handler.
void hf_async_unhold_signals(void);

#endif
