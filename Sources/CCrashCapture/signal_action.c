// What the kernel does on a signal. Ordinary code: nothing here runs in a handler.

#include "signal_action.h"
#include "async_state.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

HFKernelAction hf_signal_action(int signal) {
    HFKernelAction action;
    memset(&action, 0, sizeof action);
    syscall(SYS_rt_sigaction, signal, NULL, &action, HF_KERNEL_SIGSET_SIZE);
    return action;
}

int hf_signal_set_handler(int signal, void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    // SA_RESTART: what can go on after a signal does. SA_ONSTACK: the thread may be about to use up its own.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigfillset(&action.sa_mask);
    // But a fault of the handler must still be seen.
    for (int i = 0; i < HF_FAULT_SIGNAL_COUNT; i += 1) {
        sigdelset(&action.sa_mask, hf_async_fault_signals[i]);
    }
    return sigaction(signal, &action, NULL) == 0 ? 0 : errno;
}
