// System calls without libc: no errno, no lazy binding, no lock. For code that runs in a crashed context.

#ifndef HF_ASYNC_SYSCALLS_H
#define HF_ASYNC_SYSCALLS_H

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>

/// Makes a system call; returns its result, or the negated error number. Safe to call from a signal handler.
static inline long hf_async_syscall(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#define HF_SYSCALL0(n) hf_async_syscall(n, 0, 0, 0, 0, 0, 0)
#define HF_SYSCALL1(n, a) hf_async_syscall(n, (long)(a), 0, 0, 0, 0, 0)
#define HF_SYSCALL2(n, a, b) hf_async_syscall(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define HF_SYSCALL3(n, a, b, c) hf_async_syscall(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define HF_SYSCALL4(n, a, b, c, d) hf_async_syscall(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define HF_SYSCALL6(n, a, b, c, d, e, f) \
    hf_async_syscall(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
