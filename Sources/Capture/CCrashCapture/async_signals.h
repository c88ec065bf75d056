#ifndef HF_ASYNC_SIGNALS_H
#define HF_ASYNC_SIGNALS_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { HF_HIGHEST_SIGNAL = 64 };

/// How long a program that was told to end has for that, in nanoseconds, as systemd.service(5) gives it by TimeoutStopSec.
static const uint64_t hf_order_patience = 90ULL * 1000 * 1000 * 1000;

/// The layout that rt_sigaction(2) takes, which is not that of glibc.
typedef struct HFKernelAction {
    /// The address of a function, or SIG_DFL or SIG_IGN.
    uintptr_t handler;
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
} HFKernelAction;

/// What installing and handling share. Written by ordinary code, one thread at a time.
typedef struct HFSignalState {
    /// The process that observes, as hf_async_process() has it: a forked child has a copy.
    _Atomic(int32_t) pid;
    /// The eventfd of each signal, plus 1; 0 for none.
    _Atomic(int) descriptors[HF_HIGHEST_SIGNAL + 1];
    /// How many handlers run.
    _Atomic(uint32_t) running;
    /// Ours, as the kernel has it.
    HFKernelAction action;
    /// What stood before ours.
    HFKernelAction previous[HF_HIGHEST_SIGNAL + 1];
    /// Signals that are observed or discarded, as bits: held back across a restart, whose process would die of them.
    _Atomic(uint64_t) observed;
    /// Observed signals that were ignored before, as bits.
    _Atomic(uint64_t) ignored_before;
    /// Signals that the observing thread blocked before, as bits.
    uint64_t blocked_before;
    /// Signals that do nothing while they are not observed, as bits.
    uint64_t discarded;
    /// Orders to end that were taken, and that the process has not carried out, as bits.
    _Atomic(uint64_t) taken_orders;
    /// When each of them was taken last, in nanoseconds of CLOCK_MONOTONIC, by signal.
    _Atomic(uint64_t) order_times[SIGTERM + 1];
} HFSignalState;

extern HFSignalState hf_signal_state;

/// The action of an observed signal. Safe to call from a signal handler: it is one.
void hf_async_handle_signal(int signal, siginfo_t *info, void *context);

/// The action of a discarded signal. Safe to call from a signal handler: it is one.
void hf_async_discard_signal(int signal, siginfo_t *info, void *context);

/// Forgets all events: a forked child that observes signals itself begins anew.
void hf_signal_reset_ring(void);

/// Holds observed signals back on the calling thread, and queues again what has no handler called yet: both outlive execve(2).
///
/// Safe to call from a signal handler.
void hf_async_hold_signals(void);

/// Whether a signal is an order to end: SIGTERM or SIGINT. Safe to call from a signal handler.
bool hf_async_is_order(int signal);

/// The order to end that the process has yet to carry out: one that waits, or that was taken within `hf_order_patience`; 0 for none.
///
/// Safe to call from a signal handler.
int hf_async_due_order(void);

/// Whether an order to end waits for the thread that takes events. Safe to call from a signal handler.
bool hf_async_has_order(void);

/// Whether an order to end waits for that thread, or is blocked. Safe to call from a signal handler.
bool hf_async_is_order_pending(void);

/// Undoes hf_async_hold_signals(), but for the mask: what it queued is no event any more.
///
/// For the thread that takes events, or one that ends the process. Safe to call from a signal handler.
void hf_async_unhold_signals(void);

#endif
