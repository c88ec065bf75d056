// The monotonic clock, and sleeping on a word by it.

#include "async_sleep.h"
#include "async_syscalls.h"

#include <linux/futex.h>
#include <time.h>

enum { second = 1000 * 1000 * 1000 };

uint64_t hf_async_monotonic_nanoseconds(void) {
    struct timespec time = {0, 0};
    HF_SYSCALL2(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * second + (uint64_t)time.tv_nsec;
}

bool hf_async_sleep_while(const void *word, uint32_t value, uint64_t until) {
    struct timespec time = {(time_t)(until / second), (long)(until % second)};
    // Private: found by its address, also where the spool has become another mapping meanwhile (async_spool.c).
    long result = HF_SYSCALL6(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, &time, 0, FUTEX_BITSET_MATCH_ANY);
    return result != -ETIMEDOUT;
}

void hf_async_wake(const void *word) { HF_SYSCALL3(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX); }
