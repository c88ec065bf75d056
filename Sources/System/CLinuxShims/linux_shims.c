// What the Glibc overlay lacks, by subject. linux_shims.h says why each is here.

#include "linux_shims.h"

#include <dirent.h>
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

enum { nanoseconds_per_second = 1000000000 };

// MARK: Directories

int hf_scan_directory(int descriptor, struct dirent ***list) { return scandirat(descriptor, ".", list, NULL, NULL); }

// MARK: The main dispatch queue

// Weak: an executable that does not link libdispatch must not need it for these.
extern int _dispatch_get_main_queue_handle_4CF(void) __attribute__((weak));
extern void _dispatch_main_queue_callback_4CF(void *message) __attribute__((weak));

bool hf_has_main_queue(void) {
    return _dispatch_get_main_queue_handle_4CF != NULL && _dispatch_main_queue_callback_4CF != NULL;
}

int hf_main_queue_handle(void) {
    if (!hf_has_main_queue()) {
        return -1;
    }
    return _dispatch_get_main_queue_handle_4CF();
}

void hf_main_queue_drain(void) {
    if (_dispatch_main_queue_callback_4CF != NULL) {
        _dispatch_main_queue_callback_4CF(NULL);
    }
}

// MARK: Threads and forks

bool hf_is_main_thread(void) { return gettid() == getpid(); }

int hf_thread_id(void) { return gettid(); }

// ERANGE for a name that is too long: the caller cuts it.
void hf_thread_set_name(const char *name) { pthread_setname_np(pthread_self(), name); }

unsigned int hf_forks;
static pthread_once_t watched = PTHREAD_ONCE_INIT;

// Runs in the child, which may hold the locks of threads it does not have: safe to call from a signal handler.
static void count_fork(void) { __atomic_fetch_add(&hf_forks, 1, __ATOMIC_RELAXED); }

static void watch(void) { pthread_atfork(NULL, NULL, count_fork); }

void hf_fork_count_watch(void) { pthread_once(&watched, watch); }

// MARK: membarrier(2)

static bool has_barrier;

// Before there are other threads: later, the kernel waits for a grace period of RCU (sync_runqueues_membarrier_state() in
// kernel/sched/membarrier.c), which takes milliseconds.
__attribute__((constructor)) static void register_for_barriers(void) {
    int saved = errno;
    has_barrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    errno = saved;
}

bool hf_has_barrier_on_all_threads(void) { return has_barrier; }

bool hf_barrier_on_all_threads(void) {
    int saved = errno;
    bool passed = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
    errno = saved;
    return passed;
}

// MARK: futex(2)

void hf_futex_wait(const uint32_t *word, uint32_t value) {
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
    errno = saved;
}

void hf_futex_wait_until(const uint32_t *word, uint32_t value, int64_t deadline) {
    struct timespec time = {.tv_sec = (time_t)(deadline / nanoseconds_per_second), .tv_nsec = (long)(deadline % nanoseconds_per_second)};
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value, &time, NULL, FUTEX_BITSET_MATCH_ANY);
    errno = saved;
}

void hf_futex_wake(const uint32_t *word, int count) {
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
    errno = saved;
}

// MARK: Files

long hf_directory_read(int directory, void *buffer, unsigned long size) {
    return syscall(SYS_getdents64, directory, buffer, size);
}

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

// MARK: Characters

// Made once and never freed or changed.
static locale_t utf8;
static pthread_once_t locale_made = PTHREAD_ONCE_INIT;

static void make_locale(void) { utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0); }

int hf_character_columns(uint32_t character) {
    pthread_once(&locale_made, make_locale);
    if (utf8 == (locale_t)0) return -1;
    locale_t previous = uselocale(utf8);
    int columns = wcwidth((wchar_t)character);
    uselocale(previous);
    return columns;
}

void hf_return_free_memory(void) {
    malloc_trim(0);
    // That leaves the free end of each arena but the main one (mtrim in glibc's malloc/malloc.c), which has 64 MiB at most. The calling thread's
    // is taken in large blocks, and their pages are given back.
    enum { block = 4 << 20, most = 16 };
    char *blocks[most];
    int count = 0;
    while (count < most && (blocks[count] = malloc(block)) != NULL) {
        count += 1;
    }
    for (int i = 0; i < count; i += 1) {
        uintptr_t start = ((uintptr_t)blocks[i] + 4095) & ~(uintptr_t)4095;
        uintptr_t end = ((uintptr_t)blocks[i] + block) & ~(uintptr_t)4095;
        madvise((void *)start, end - start, MADV_DONTNEED);
    }
    for (int i = 0; i < count; i += 1) {
        free(blocks[i]);
    }
}
