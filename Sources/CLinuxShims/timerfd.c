// timerfd(2), which the Glibc overlay does not import.

#include "linux_shims.h"

#include <stddef.h>
#include <sys/timerfd.h>
#include <time.h>

enum { nanoseconds_per_second = 1000000000 };

int hf_timerfd_create(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); }

int hf_timerfd_set(int descriptor, int64_t nanoseconds) {
    struct itimerspec setting = {
        .it_value = {
            .tv_sec = (time_t)(nanoseconds / nanoseconds_per_second),
            .tv_nsec = (long)(nanoseconds % nanoseconds_per_second),
        },
    };
    return timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &setting, NULL);
}
