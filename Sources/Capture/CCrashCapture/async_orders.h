#ifndef HF_ASYNC_ORDERS_H
#define HF_ASYNC_ORDERS_H

#include <signal.h>
#include <stdint.h>

/// The handler of an order to end that the program has set itself: notes the order, and calls the program's handler.
///
/// Safe to call from a signal handler: it is one.
void hf_async_take_own_order(int signal, siginfo_t *info, void *context);

/// Sets the program's handler of an order, and returns the one before. Safe to call from a signal handler.
uintptr_t hf_async_exchange_order_handler(int signal, uintptr_t handler);

/// The program's handler of an order, 0 if it never had one. Safe to call from a signal handler.
uintptr_t hf_async_order_handler(int signal);

/// Notes that the program has taken an order by itself, and has threads that wait for their turn look again.
///
/// Safe to call from a signal handler.
void hf_async_tell_own_order(int signal);

#endif
