// What the Glibc overlay does not import: epoll, eventfd, timerfd, futexes, the main dispatch queue's hooks for a run loop, and
// fork.

#ifndef HF_LINUX_SHIMS_H
#define HF_LINUX_SHIMS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dirent;

/// The entries of an open directory: scandirat(3), which needs _GNU_SOURCE. Returns how many, or -1 with `errno` set; free(3) each and the list.
int hf_scan_directory(int descriptor, struct dirent *_Nullable *_Nullable *_Nonnull list);

/// Whether the process has libdispatch. Safe to call from a signal handler.
bool hf_has_main_queue(void);

/// Returns the descriptor that is readable while the main dispatch queue has work, or -1 if the process has no libdispatch.
///
/// Provided because libdispatch exports the function but declares it in no public header, and because the reference must be weak. The
/// descriptor belongs to libdispatch. Not safe to call from a signal handler.
int hf_main_queue_handle(void);

/// Runs the blocks of the main dispatch queue. Call it on the main thread only, never from inside itself.
///
/// Does nothing if the process has no libdispatch. Not safe to call from a signal handler: runs user code.
void hf_main_queue_drain(void);

/// Whether the calling thread is the process's first.
///
/// Provided because the Glibc overlay lacks gettid(2). Safe to call from a signal handler.
bool hf_is_main_thread(void);

/// Returns the id of the calling thread: gettid(2), which the Glibc overlay lacks.
///
/// Safe to call from a signal handler.
int hf_thread_id(void);

/// Makes a timerfd on the monotonic clock, nonblocking and closed on exec: timerfd_create(2). Returns -1 with `errno` set.
///
/// Provided because including <sys/timerfd.h> here would move half of the Glibc overlay's types into this module.
int hf_timerfd_create(void);

/// Sets a timerfd to a time on the monotonic clock; zero turns it off: timerfd_settime(2). Returns -1 with `errno` set.
int hf_timerfd_set(int descriptor, int64_t nanoseconds);

/// Whether hf_barrier_on_all_threads() works: the process was registered for it when it was loaded.
bool hf_has_barrier_on_all_threads(void);

/// Has every thread of the process pass a full memory barrier before it returns: membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED.
///
/// Takes a microsecond or two where other threads run, because the kernel interrupts their processors. Returns false if the kernel refuses,
/// for example by a filter of system calls that was installed since.
bool hf_barrier_on_all_threads(void);

/// Sleeps while `*word` is `value`, until woken; may return without a reason: futex(2), FUTEX_WAIT_PRIVATE.
///
/// Provided because the Glibc overlay has no variadic syscall(2). Keeps `errno`. Safe to call from a signal handler.
void hf_futex_wait(const uint32_t *_Nonnull word, uint32_t value);

/// The same, until a time on CLOCK_MONOTONIC in nanoseconds at the latest: futex(2), FUTEX_WAIT_BITSET.
///
/// Safe to call from a signal handler.
void hf_futex_wait_until(const uint32_t *_Nonnull word, uint32_t value, int64_t deadline);

/// Wakes at most `count` threads that sleep on `*word`: futex(2), FUTEX_WAKE_PRIVATE.
///
/// Keeps `errno`. Safe to call from a signal handler.
void hf_futex_wake(const uint32_t *_Nonnull word, int count);

/// Gives free memory of malloc(3) back to the kernel: malloc_trim(3), which the Glibc overlay has not.
void hf_return_free_memory(void);

/// Prefetches three cache lines from an address on, without waiting; never faults. Safe to call from a signal handler.
static inline void hf_prefetch_lines(uintptr_t address) {
    __builtin_prefetch((const void *)address, 1);
    __builtin_prefetch((const void *)(address + 64), 1);
    __builtin_prefetch((const void *)(address + 128), 1);
}

/// Tells the processor that the thread spins. Safe to call from a signal handler.
static inline void hf_spin_pause(void) { __builtin_ia32_pause(); }

/// Reads entries of a directory into a buffer, as `struct linux_dirent64`: getdents64(2).
///
/// Provided because readdir(3) tells an error from the end only by an `errno` that was cleared before, and scandir(3) allocates each name.
/// Returns the number of bytes, 0 at the end, or -1 with `errno` set. Safe to call from a signal handler.
long hf_directory_read(int directory, void *_Nonnull buffer, unsigned long size);

/// Names the calling thread; 15 bytes at most, or nothing happens.
///
/// Provided because the Glibc overlay lacks pthread_setname_np(3). Not safe to call from a signal handler.
void hf_thread_set_name(const char *_Nonnull name);

/// Returns how many columns of a terminal a character of Unicode takes, or -1 when that is not known: wcwidth(3).
///
/// Provided because the Glibc overlay lacks it. Goes by UTF-8 whatever the environment says. Not safe to call from a signal handler.
int hf_character_columns(uint32_t character);

/// Begins to count forks, once per process; children go on counting.
///
/// Provided because `pthread_atfork` wants a handler that a child may run while locks of other threads are stuck.
void hf_fork_count_watch(void);

/// What hf_fork_count() returns; nobody else's to touch.
extern unsigned int hf_forks;

/// Returns how many forks lie between the process that began to count and this one.
///
/// A child of posix_spawn(3) or of a raw clone(2) is not counted. Safe to call from a signal handler.
static inline unsigned int hf_fork_count(void) { return __atomic_load_n(&hf_forks, __ATOMIC_RELAXED); }

#ifdef __cplusplus
}
#endif

#endif
