// futex(2), which has no wrapper in glibc.

#include "linux_shims.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void hf_futex_wait(const uint32_t *word, uint32_t value) {
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
    errno = saved;
}

void hf_futex_wait_until(const uint32_t *word, uint32_t value, int64_t deadline) {
    struct timespec time = {.tv_sec = (time_t)(deadline / 1000000000), .tv_nsec = (long)(deadline % 1000000000)};
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value, &time, NULL, FUTEX_BITSET_MATCH_ANY);
    errno = saved;
}

void hf_futex_wake(const uint32_t *word, int count) {
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
    errno = saved;
}
