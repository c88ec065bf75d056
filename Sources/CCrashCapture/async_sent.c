// Fault signals that another process sends.

#include "async_handler.h"
#include "async_state.h"
#include "async_syscalls.h"

bool hf_async_is_ignored_order(int signal, const siginfo_t *info) {
    if (info->si_code > SI_USER || info->si_pid == (int32_t)HF_SYSCALL0(SYS_getpid)) {
        return false;
    }
    for (int i = 0; i < HF_REPORTED_SIGNAL_COUNT; i += 1) {
        if (hf_async_fault_signals[i] == signal) {
            return hf_capture_state.previous[i].sa_handler == SIG_IGN;
        }
    }
    return false;
}
