// Asynchronous signals: from a handler into a ring, from the ring to whoever reads the eventfd.

#include "async_signals.h"
#include "async_state.h"
#include "async_syscalls.h"

#include <stdatomic.h>
#include <time.h>

enum { ring_size = 256, highest_signal = 64 };

/// A bounded queue of many producers and one consumer: a cell's turn says whose it is (D. Vyukov's bounded MPMC queue).
typedef struct Cell {
    _Atomic(uint64_t) turn;
    HFSignalEvent event;
} Cell;

static struct {
    /// The ring; a cell is free for ticket `t` when its turn is `t`, and full when it is `t` + 1. Turns start at 0 and are
    /// relative to the cell's index, so that the zeroed state is the empty ring.
    Cell cells[ring_size];
    _Atomic(uint64_t) head;
    uint64_t tail;
    _Atomic(uint64_t) dropped;
    /// The eventfd of each signal, plus 1; 0 for none.
    _Atomic(int) descriptors[highest_signal + 1];
} state;

static bool push(const HFSignalEvent *event) {
    uint64_t ticket = atomic_load_explicit(&state.head, memory_order_relaxed);
    for (;;) {
        uint64_t index = ticket % ring_size;
        Cell *cell = &state.cells[index];
        uint64_t turn = atomic_load_explicit(&cell->turn, memory_order_acquire) + index;
        if (turn == ticket) {
            if (atomic_compare_exchange_weak_explicit(
                    &state.head, &ticket, ticket + 1, memory_order_relaxed, memory_order_relaxed)) {
                cell->event = *event;
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

void hf_async_handle_signal(int signal, siginfo_t *info, void *context) {
    (void)context;
    struct timespec time = {0, 0};
    HF_SYSCALL2(SYS_clock_gettime, CLOCK_REALTIME, &time);
    HFSignalEvent event = {
        .time_unix_nanoseconds = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec,
        .signal = signal,
        .code = info->si_code,
        .sender_pid = info->si_pid,
        .sender_uid = info->si_uid,
        .value = info->si_code == SI_QUEUE ? (int64_t)info->si_value.sival_ptr : 0,
    };
    if (!push(&event)) {
        atomic_fetch_add_explicit(&state.dropped, 1, memory_order_relaxed);
    }
    int descriptor = atomic_load_explicit(&state.descriptors[signal], memory_order_acquire) - 1;
    if (descriptor >= 0) {
        uint64_t one = 1;
        HF_SYSCALL3(SYS_write, descriptor, &one, sizeof one);
    }
}

void hf_async_set_signal_descriptor(int signal, int descriptor) {
    atomic_store_explicit(&state.descriptors[signal], descriptor + 1, memory_order_release);
}

bool hf_signal_next(HFSignalEvent *event) {
    uint64_t index = state.tail % ring_size;
    Cell *cell = &state.cells[index];
    uint64_t turn = atomic_load_explicit(&cell->turn, memory_order_acquire) + index;
    if (turn != state.tail + 1) {
        return false;
    }
    *event = cell->event;
    atomic_store_explicit(&cell->turn, state.tail + ring_size - index, memory_order_release);
    state.tail += 1;
    return true;
}

uint64_t hf_signal_take_dropped(void) {
    return atomic_exchange_explicit(&state.dropped, 0, memory_order_relaxed);
}
