// Counts the locks of the POSIX threads library that each thread holds, by standing before its functions.
//
// A symbol of the executable comes before that of a library (ld.so(8)), so calls from the Swift runtime, Foundation and the
// application come here first. glibc's own calls do not: the locks of the heap, of stdio and of the loader are seen as frames.
// Ordinary code, called at any time: also before main, and in a forked child.

#include "callout_deadline.h"
#include "recovery_point.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>

// The sanitizers stand in the same place, and without theirs they would see races and leaks that are none.
#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

// In a section of their own, whose bounds the linker knows: a thread that is interrupted between taking a lock and counting it holds one
// that the count does not show.
#pragma clang section text = "holdfast_locks"

extern const char __start_holdfast_locks[] __attribute__((visibility("hidden")));
extern const char __stop_holdfast_locks[] __attribute__((visibility("hidden")));

#include "next_function.h"

/// Counts a lock that was taken, also from an owner that died with it (pthread_mutexattr_setrobust(3)).
static inline int count_taken(int result) {
    if (result == 0 || result == EOWNERDEAD) {
        hf_held_locks += 1;
    }
    return result;
}

/// Marks the running callout when it has let go of more locks than it took: one that it takes from now on would make up for one
/// that was held before it began, and the counts would be equal.
static inline void note_deficit(void) {
    HFRecoveryPoint *point = hf_current_recovery_point;
    if (point != NULL && (int32_t)(hf_held_locks - point->held_locks) < 0) {
        point->held_locks = hf_held_locks - HF_LOCK_DEFICIT;
    }
}

// Before it is let go: between the two the count is too low only for a lock that is free already.
#define LET_GO(name, lock, success)             \
    do {                                        \
        hf_held_locks -= 1;                     \
        int result = HF_NEXT(name)(lock);          \
        if (result != (success)) {              \
            hf_held_locks += 1;                 \
        } else {                                \
            note_deficit();                     \
        }                                       \
        return result;                          \
    } while (0)

int pthread_mutex_lock(pthread_mutex_t *mutex) { return count_taken(HF_NEXT(pthread_mutex_lock)(mutex)); }

int pthread_mutex_trylock(pthread_mutex_t *mutex) { return count_taken(HF_NEXT(pthread_mutex_trylock)(mutex)); }

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until) {
    return count_taken(HF_NEXT(pthread_mutex_timedlock)(mutex, until));
}

int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until) {
    return count_taken(HF_NEXT(pthread_mutex_clocklock)(mutex, clock, until));
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) { LET_GO(pthread_mutex_unlock, mutex, 0); }

int pthread_rwlock_rdlock(pthread_rwlock_t *lock) { return count_taken(HF_NEXT(pthread_rwlock_rdlock)(lock)); }

int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock) { return count_taken(HF_NEXT(pthread_rwlock_tryrdlock)(lock)); }

int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *until) {
    return count_taken(HF_NEXT(pthread_rwlock_timedrdlock)(lock, until));
}

int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until) {
    return count_taken(HF_NEXT(pthread_rwlock_clockrdlock)(lock, clock, until));
}

int pthread_rwlock_wrlock(pthread_rwlock_t *lock) { return count_taken(HF_NEXT(pthread_rwlock_wrlock)(lock)); }

int pthread_rwlock_trywrlock(pthread_rwlock_t *lock) { return count_taken(HF_NEXT(pthread_rwlock_trywrlock)(lock)); }

int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *until) {
    return count_taken(HF_NEXT(pthread_rwlock_timedwrlock)(lock, until));
}

int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until) {
    return count_taken(HF_NEXT(pthread_rwlock_clockwrlock)(lock, clock, until));
}

int pthread_rwlock_unlock(pthread_rwlock_t *lock) { LET_GO(pthread_rwlock_unlock, lock, 0); }

int pthread_spin_lock(pthread_spinlock_t *lock) { return count_taken(HF_NEXT(pthread_spin_lock)(lock)); }

int pthread_spin_trylock(pthread_spinlock_t *lock) { return count_taken(HF_NEXT(pthread_spin_trylock)(lock)); }

int pthread_spin_unlock(pthread_spinlock_t *lock) { LET_GO(pthread_spin_unlock, lock, 0); }

// stdio's own calls do not come here: those are seen as frames. This is the program that locks a stream for itself.

void flockfile(FILE *stream) {
    HF_NEXT(flockfile)(stream);
    hf_held_locks += 1;
}

int ftrylockfile(FILE *stream) { return count_taken(HF_NEXT(ftrylockfile)(stream)); }

void funlockfile(FILE *stream) {
    hf_held_locks -= 1;
    HF_NEXT(funlockfile)(stream);
    note_deficit();
}

// C11's are the same locks, but glibc does not call its own functions by name.

int mtx_lock(mtx_t *mutex) {
    int result = HF_NEXT(mtx_lock)(mutex);
    hf_held_locks += result == thrd_success;
    return result;
}

int mtx_trylock(mtx_t *mutex) {
    int result = HF_NEXT(mtx_trylock)(mutex);
    hf_held_locks += result == thrd_success;
    return result;
}

int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict until) {
    int result = HF_NEXT(mtx_timedlock)(mutex, until);
    hf_held_locks += result == thrd_success;
    return result;
}

int mtx_unlock(mtx_t *mutex) { LET_GO(mtx_unlock, mutex, thrd_success); }

#pragma clang section text = ""

bool hf_is_in_lock_function(uint64_t address) {
    return address >= (uint64_t)__start_holdfast_locks && address < (uint64_t)__stop_holdfast_locks;
}

#else

bool hf_is_in_lock_function(uint64_t address) {
    (void)address;
    return false;
}

#endif
