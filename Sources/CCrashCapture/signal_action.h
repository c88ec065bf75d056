#ifndef HF_SIGNAL_ACTION_H
#define HF_SIGNAL_ACTION_H

#include "async_signals.h"

/// The action as the kernel has it: with the C library's restorer, so that it can be set again without the library.
HFKernelAction hf_signal_action(int signal);

/// Installs a handler that nothing but a fault interrupts. Returns 0 or an errno value.
int hf_signal_set_handler(int signal, void (*handler)(int, siginfo_t *, void *));

#endif
