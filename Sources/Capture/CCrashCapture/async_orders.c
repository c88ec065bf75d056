// Orders to end that the program takes itself: a fault must not restart a process that is on its way to the end.

#include "async_orders.h"
#include "async_signals.h"
#include "async_verdict.h"

/// The program's handlers, by signal.
static _Atomic(uintptr_t) handlers[SIGTERM + 1];

uintptr_t hf_async_exchange_order_handler(int signal, uintptr_t handler) {
    return atomic_exchange_explicit(&handlers[signal], handler, memory_order_acq_rel);
}

uintptr_t hf_async_order_handler(int signal) {
    return atomic_load_explicit(&handlers[signal], memory_order_acquire);
}

void hf_async_tell_own_order(int signal) {
    hf_async_note_own_order(signal);
    hf_async_note_turn();
}

void hf_async_take_own_order(int signal, siginfo_t *info, void *context) {
    hf_async_tell_own_order(signal);
    // The kernel passes all three to every handler (arch/x86/kernel/signal_64.c, x64_setup_rt_frame).
    void (*handler)(int, siginfo_t *, void *) = (void (*)(int, siginfo_t *, void *))hf_async_order_handler(signal);
    handler(signal, info, context);
}
