#ifndef HF_ORDER_TRACKING_H
#define HF_ORDER_TRACKING_H

#include <signal.h>

typedef int (*HFSetAction)(int, const struct sigaction *restrict, struct sigaction *restrict);

/// Sets an action by the library's function, and stands before the handler where it is one of an order to end. The caller is told the
/// program's own handlers.
int hf_order_set_action(HFSetAction set, int signal, const struct sigaction *action, struct sigaction *before)
    __attribute__((visibility("hidden")));

/// Notes a signal that the program has waited for, if it is an order to end.
void hf_order_note_wait(int signal) __attribute__((visibility("hidden")));

#endif
