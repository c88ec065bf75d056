// What the crash thread asks of a thread whose callout takes too long, before and while it stands still.

#include "async_syscalls.h"
#include "callout_deadline.h"

#include <sys/syscall.h>

bool hf_async_is_same_callout(const HFInterruption *interruption) {
    for (int i = 0; i < HF_PROGRESS_WORDS; i += 1) {
        if (__atomic_load_n(interruption->words[i], __ATOMIC_ACQUIRE) != interruption->values[i]) {
            return false;
        }
    }
    return true;
}

/// Those whose wrappers in the C library are on the list of FunctionRanges.waitFunctions.
bool hf_async_is_plain_system_call(int32_t number) {
    switch (number) {
    case SYS_read:
    case SYS_pread64:
    case SYS_readv:
    case SYS_preadv:
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_pwritev:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_rt_sigsuspend:
    case SYS_rt_sigtimedwait:
#if defined(__x86_64__)
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
    case SYS_pause:
#endif
        return true;
    default:
        return false;
    }
}
