// Asynchronous signals: from a handler into a ring, from the ring to whoever reads the eventfd.

#include "async_signals.h"
#include "async_restart.h"
#include "async_state.h"
#include "async_syscalls.h"
#include "signal_events.h"

#include <time.h>

enum {
    ring_size = 4096,
    /// The `si_errno` of an order to end that an earlier process took. Linux does not use the field (sigaction(2)), and hands it on.
    repeated = EALREADY,
};

/// What the kernel tells of a signal: the used part of siginfo_t (asm-generic/siginfo.h).
typedef struct Information {
    char bytes[48];
} Information;

/// A cell of a bounded queue with many producers and one consumer: its turn says whose it is (D. Vyukov's bounded MPMC queue).
typedef struct Cell {
    _Atomic(uint64_t) turn;
    int64_t time;
    uint64_t lost;
    Information information;
} Cell;

static struct {
    /// The ring; a cell is free for ticket `t` when its turn is `t`, and full when it is `t` + 1. Turns start at 0 and are
    /// relative to the cell's index, so that the zeroed state is the empty ring.
    Cell cells[ring_size];
    _Atomic(uint64_t) head;
    _Atomic(uint64_t) tail;
    /// By signal: how many found no room since the last event with that number.
    _Atomic(uint64_t) lost[HF_HIGHEST_SIGNAL + 1];
    /// The signals whose count may be above 0, as bits.
    _Atomic(uint64_t) losing;
    /// The events before this ticket were queued again.
    _Atomic(uint64_t) held;
    /// The siginfo of the last order to end that was taken, by signal; SIGTERM is the highest.
    Information orders[SIGTERM + 1];
} state;

HFSignalState hf_signal_state;

static uint64_t bit(int signal) { return 1ULL << (signal - 1); }

static void count_lost(int signal, uint64_t count) {
    if (count > 0) {
        atomic_fetch_add_explicit(&state.lost[signal], count, memory_order_relaxed);
        atomic_fetch_or_explicit(&state.losing, bit(signal), memory_order_release);
    }
}

static bool push(int signal, const siginfo_t *info, int64_t time) {
    uint64_t ticket = atomic_load_explicit(&state.head, memory_order_relaxed);
    for (;;) {
        uint64_t index = ticket % ring_size;
        Cell *cell = &state.cells[index];
        uint64_t turn = atomic_load_explicit(&cell->turn, memory_order_acquire) + index;
        if (turn == ticket) {
            if (atomic_compare_exchange_weak_explicit(
                    &state.head, &ticket, ticket + 1, memory_order_relaxed, memory_order_relaxed)) {
                cell->time = time;
                // With the ticket: the signals that were lost came before this one, and after the last one that has a ticket.
                cell->lost = atomic_exchange_explicit(&state.lost[signal], 0, memory_order_relaxed);
                __builtin_memcpy(&cell->information, info, sizeof cell->information);
                atomic_store_explicit(&cell->turn, ticket + 1 - index, memory_order_release);
                return true;
            }
        } else if (turn < ticket) {
            return false;
        } else {
            ticket = atomic_load_explicit(&state.head, memory_order_relaxed);
        }
    }
}

/// In a forked child: restores the earlier action, for when this handler has returned.
static bool leave_to_child(int signal, const siginfo_t *info) {
    if (hf_async_process() == atomic_load_explicit(&hf_signal_state.pid, memory_order_acquire)) {
        return false;
    }
    HF_SYSCALL4(SYS_rt_sigaction, signal, &hf_signal_state.previous[signal], 0, HF_KERNEL_SIGSET_SIZE);
    hf_async_queue_to_self(signal, info);
    return true;
}

void hf_async_handle_signal(int signal, siginfo_t *info, void *context) {
    (void)context;
    if (leave_to_child(signal, info)) {
        return;
    }
    atomic_fetch_add_explicit(&hf_signal_state.running, 1, memory_order_acq_rel);
    // Nobody reads the ring any more: the next process gets the signal, or this one if the restart fails.
    if (hf_async_is_restarting()) {
        long pid = HF_SYSCALL0(SYS_getpid);
        HF_SYSCALL3(SYS_rt_sigqueueinfo, pid, signal, info);
        hf_async_await_restart();
        atomic_fetch_sub_explicit(&hf_signal_state.running, 1, memory_order_acq_rel);
        return;
    }
    if (!push(signal, info, (int64_t)hf_async_nanoseconds(CLOCK_REALTIME))) {
        count_lost(signal, 1);
    }
    // Written last: whoever it wakes finds the event, or the count.
    int descriptor = atomic_load_explicit(&hf_signal_state.descriptors[signal], memory_order_acquire) - 1;
    if (descriptor >= 0) {
        uint64_t one = 1;
        HF_SYSCALL3(SYS_write, descriptor, &one, sizeof one);
    }
    atomic_fetch_sub_explicit(&hf_signal_state.running, 1, memory_order_acq_rel);
}

void hf_async_discard_signal(int signal, siginfo_t *info, void *context) {
    (void)context;
    leave_to_child(signal, info);
}

// MARK: Taking events

/// Copies only what the kernel has filled in: the rest of the union means something else (kernel/signal.c, siginfo_layout).
static void decode(HFSignalEvent *event, const Information *information) {
    siginfo_t info;
    __builtin_memset(&info, 0, sizeof info);
    __builtin_memcpy(&info, information, sizeof *information);
    event->signal = info.si_signo;
    event->code = info.si_code;
    event->is_repeated = hf_async_is_order(info.si_signo) && info.si_errno == repeated;
    if (info.si_code > SI_USER && info.si_code < SI_KERNEL) {
        if (info.si_signo == SIGCHLD) {
            event->sender_pid = info.si_pid;
            event->sender_uid = info.si_uid;
            event->status = info.si_status;
        } else if (info.si_signo != SIGSYS && info.si_code <= POLL_HUP) {
            event->descriptor = info.si_fd;
            event->descriptor_events = (int32_t)info.si_band;
        }
    } else if (info.si_code == SI_TIMER) {
        event->overrun = info.si_overrun;
        event->value = (int64_t)info.si_value.sival_ptr;
    } else if (info.si_code == SI_SIGIO) {
        event->descriptor = info.si_fd;
        event->descriptor_events = (int32_t)info.si_band;
    } else {
        event->sender_pid = info.si_pid;
        event->sender_uid = info.si_uid;
        // kill(2) and tgkill(2) carry none.
        if (info.si_code < 0 && info.si_code != SI_TKILL) {
            event->value = (int64_t)info.si_value.sival_ptr;
        }
    }
}

/// Makes an event of a count that no later signal carries.
static bool next_count(HFSignalEvent *event) {
    for (;;) {
        uint64_t losing = atomic_load_explicit(&state.losing, memory_order_acquire);
        if (losing == 0) {
            return false;
        }
        int signal = __builtin_ctzll(losing) + 1;
        // The bit first: a handler that counts after the exchange sets it again.
        atomic_fetch_and_explicit(&state.losing, ~bit(signal), memory_order_acq_rel);
        uint64_t lost = atomic_exchange_explicit(&state.lost[signal], 0, memory_order_acq_rel);
        if (lost > 0) {
            event->signal = signal;
            event->lost = lost;
            event->is_count_only = true;
            return true;
        }
    }
}

/// Notes that an order to end was taken from the kernel.
static void note_taken(int signal) {
    atomic_store_explicit(
        &hf_signal_state.order_times[signal], hf_async_monotonic_nanoseconds(), memory_order_relaxed);
    atomic_fetch_or_explicit(&hf_signal_state.taken_orders, bit(signal), memory_order_release);
}

bool hf_signal_next(HFSignalEvent *event) {
    __builtin_memset(event, 0, sizeof *event);
    event->descriptor = -1;
    uint64_t tail = atomic_load_explicit(&state.tail, memory_order_relaxed);
    uint64_t index = tail % ring_size;
    Cell *cell = &state.cells[index];
    uint64_t turn = atomic_load_explicit(&cell->turn, memory_order_acquire) + index;
    if (turn != tail + 1) {
        // A cell may be waiting for its handler to finish. That one notifies, and what was lost comes after it.
        return atomic_load_explicit(&state.head, memory_order_acquire) == tail && next_count(event);
    }
    decode(event, &cell->information);
    event->time_unix_nanoseconds = cell->time;
    event->lost = cell->lost;
    if (hf_async_is_order(event->signal)) {
        // Before the event is gone: a restart between the two finds it in at least one of the places.
        state.orders[event->signal] = cell->information;
        note_taken(event->signal);
    }
    // Before the cell is free: a restart between the two queues this event again rather than lose it.
    atomic_store_explicit(&state.tail, tail + 1, memory_order_release);
    atomic_store_explicit(&cell->turn, tail + ring_size - index, memory_order_release);
    return true;
}

void hf_signal_reset_ring(void) {
    __builtin_memset(&state, 0, sizeof state);
    hf_signal_settle_orders();
}

// MARK: Orders to end

// SIGQUIT does not count: as many programs report their state on it as end by it.
bool hf_async_is_order(int signal) { return signal == SIGTERM || signal == SIGINT; }

/// The signal; 0 for none.
static int first_order_in_ring(void) {
    uint64_t head = atomic_load_explicit(&state.head, memory_order_acquire);
    for (uint64_t ticket = atomic_load_explicit(&state.tail, memory_order_acquire); ticket != head; ticket += 1) {
        uint64_t index = ticket % ring_size;
        const Cell *cell = &state.cells[index];
        siginfo_t info;
        __builtin_memcpy(&info, &cell->information, sizeof cell->information);
        if (atomic_load_explicit(&cell->turn, memory_order_acquire) + index == ticket + 1 &&
            hf_async_is_order(info.si_signo)) {
            return info.si_signo;
        }
    }
    return 0;
}

bool hf_async_has_order(void) { return first_order_in_ring() != 0; }

/// The orders that were taken so recently that the program may still be about to end, as bits.
static uint64_t orders_under_way(void) {
    uint64_t taken = atomic_load_explicit(&hf_signal_state.taken_orders, memory_order_acquire);
    uint64_t now = hf_async_monotonic_nanoseconds();
    for (int signal = 1; signal <= SIGTERM; signal += 1) {
        uint64_t time = atomic_load_explicit(&hf_signal_state.order_times[signal], memory_order_relaxed);
        if (now > time + hf_order_patience) {
            taken &= ~bit(signal);
        }
    }
    return taken;
}

/// Signals that wait until the thread or the process unblocks them, as bits.
static uint64_t pending_signals(void) {
    uint64_t pending = 0;
    HF_SYSCALL2(SYS_rt_sigpending, &pending, HF_KERNEL_SIGSET_SIZE);
    return pending;
}

bool hf_async_is_order_pending(void) {
    return hf_async_has_order() || (pending_signals() & (bit(SIGTERM) | bit(SIGINT))) != 0;
}

void hf_async_note_own_order(int signal) {
    atomic_fetch_or_explicit(&hf_signal_state.own_orders, bit(signal), memory_order_relaxed);
    note_taken(signal);
}

int hf_async_own_order(void) {
    uint64_t own = orders_under_way() & atomic_load_explicit(&hf_signal_state.own_orders, memory_order_relaxed);
    if ((own & bit(SIGTERM)) != 0) {
        return SIGTERM;
    }
    return (own & bit(SIGINT)) != 0 ? SIGINT : 0;
}

int hf_async_due_order(void) {
    uint64_t observed = atomic_load_explicit(&hf_signal_state.observed, memory_order_relaxed);
    uint64_t due = orders_under_way() | (pending_signals() & observed);
    if ((due & bit(SIGTERM)) != 0) {
        return SIGTERM;
    }
    if ((due & bit(SIGINT)) != 0) {
        return SIGINT;
    }
    return first_order_in_ring();
}

void hf_signal_settle_orders(void) {
    atomic_store(&hf_signal_state.taken_orders, 0);
    atomic_store(&hf_signal_state.own_orders, 0);
}

// MARK: Across a restart

/// Sets the action of the observed signals that were ignored before: execve(2) keeps that, and would reset a handler.
static void set_ignored_before(const HFKernelAction *action) {
    uint64_t signals = atomic_load_explicit(&hf_signal_state.ignored_before, memory_order_relaxed);
    for (int signal = 1; signal <= HF_HIGHEST_SIGNAL; signal += 1) {
        if ((signals & bit(signal)) != 0) {
            HF_SYSCALL4(SYS_rt_sigaction, signal, action, 0, HF_KERNEL_SIGSET_SIZE);
        }
    }
}

void hf_async_hold_signals(void) {
    uint64_t observed = atomic_load_explicit(&hf_signal_state.observed, memory_order_relaxed);
    HF_SYSCALL4(SYS_rt_sigprocmask, SIG_BLOCK, &observed, 0, HF_KERNEL_SIGSET_SIZE);
    HFKernelAction ignore = {.handler = (uintptr_t)SIG_IGN};
    set_ignored_before(&ignore);
    // Sent to this thread, which blocks them and becomes the next process (execve(2)): pending signals stay.
    uint64_t head = atomic_load_explicit(&state.head, memory_order_acquire);
    for (uint64_t ticket = atomic_load_explicit(&state.tail, memory_order_acquire); ticket != head; ticket += 1) {
        uint64_t index = ticket % ring_size;
        Cell *cell = &state.cells[index];
        if (atomic_load_explicit(&cell->turn, memory_order_acquire) + index != ticket + 1) {
            continue;
        }
        siginfo_t info;
        __builtin_memset(&info, 0, sizeof info);
        __builtin_memcpy(&info, &cell->information, sizeof cell->information);
        if ((observed & bit(info.si_signo)) != 0 && !hf_async_queue_to_self(info.si_signo, &info)) {
            // RLIMIT_SIGPENDING: counted, in case the restart fails.
            count_lost(info.si_signo, 1);
        }
    }
    atomic_store_explicit(&state.held, head, memory_order_relaxed);
    // Orders that were taken are queued, too, with a mark: their handlers may have begun to end the process. One that is already pending
    // stays one (signal(7)).
    uint64_t orders = orders_under_way() & observed;
    for (int signal = 1; signal <= SIGTERM; signal += 1) {
        if ((orders & bit(signal)) != 0) {
            siginfo_t info;
            __builtin_memset(&info, 0, sizeof info);
            __builtin_memcpy(&info, &state.orders[signal], sizeof state.orders[signal]);
            info.si_errno = repeated;
            hf_async_queue_to_self(signal, &info);
        }
    }
}

void hf_async_unhold_signals(void) {
    set_ignored_before(&hf_signal_state.action);
    uint64_t held = atomic_load_explicit(&state.held, memory_order_relaxed);
    HFSignalEvent event;
    while (atomic_load_explicit(&state.tail, memory_order_relaxed) != held && hf_signal_next(&event)) {
        count_lost(event.signal, event.lost);
    }
}
