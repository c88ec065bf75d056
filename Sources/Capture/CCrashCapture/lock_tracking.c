// Counts what each thread holds, by standing before the functions that take and free it: the locks of the POSIX threads library, those of
// C++ initialisers, semaphores that it waited for, groups of libdispatch that it entered, queues and sources that it suspended.
//
// A symbol of the executable comes before that of a library (ld.so(8)), so calls from the Swift runtime, Foundation and the
// application come here first. glibc's own calls do not: the locks of the heap, of stdio and of the loader are seen as frames.
// Ordinary code, called at any time: also before main, and in a forked child.

#include "function_bounds.h"
#include "crash_capture.h"
#include "recovery_point.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>

// The sanitizers stand in the same place. Without their functions they would report races and leaks that do not exist.
#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

// In a section of their own, whose bounds the linker knows: a thread that is interrupted between taking a lock and counting it holds a lock
// that the count does not show.
#pragma clang section text = "holdfast_locks"

extern const char __start_holdfast_locks[] __attribute__((visibility("hidden")));
extern const char __stop_holdfast_locks[] __attribute__((visibility("hidden")));

#include "interposition.h"

/// What a lock adds to hf_held_locks while it is held: one, plus a number made of its address in the higher bits.
///
/// With one alone, a callout that takes a lock and releases another one, which it did not take, would seem to hold none.
static inline uint32_t hf_lock_key(const volatile void *lock) {
    uint32_t number = (uint32_t)((uintptr_t)lock >> 3) * 0x9e3779b1U;
    // Not linear, so that sums of neighbours differ.
    number ^= number >> 15;
    return (number << HF_LOCK_COUNT_BITS) + 1;
}

// MARK: Locks that are known by name only

enum { most_owned = 16 };

/// The things that a thread holds, by thread. If another thread gives one back, it stays here. The next callout does not see it, because
/// only differences count.
static _Thread_local const void *owned[most_owned] __attribute__((tls_model("initial-exec")));

/// Counts a thing as held by the running thread, and keeps its name: the call that gives it back does not say whether it was held.
///
/// If a thread holds too many, the oldest stays counted, and the callout that runs is not resumed.
static void hf_own(const void *thing) {
    hf_held_locks += hf_lock_key(thing);
    for (int i = 0; i < most_owned; i += 1) {
        if (owned[i] == NULL) {
            owned[i] = thing;
            return;
        }
    }
    for (int i = 1; i < most_owned; i += 1) {
        owned[i - 1] = owned[i];
    }
    owned[most_owned - 1] = thing;
}

/// Counts such a thing as given back, and returns whether the running thread held it.
static bool hf_disown(const void *thing) {
    for (int i = most_owned - 1; i >= 0; i -= 1) {
        if (owned[i] == thing && thing != NULL) {
            owned[i] = NULL;
            hf_held_locks -= hf_lock_key(thing);
            return true;
        }
    }
    return false;
}

// MARK: Locks

/// The mutex that the thread asked for last.
static _Thread_local const pthread_mutex_t *newest_mutex __attribute__((tls_model("initial-exec")));

/// Counts a lock that was taken, even if its owner died with it (pthread_mutexattr_setrobust(3)).
static inline int count_taken(int result, const volatile void *lock) {
    if (result == 0 || result == EOWNERDEAD) {
        hf_held_locks += hf_lock_key(lock);
    }
    return result;
}

// Counted before the call: in between, the count is too low only by a lock that is already free.
#define LET_GO(name, lock, success)             \
    do {                                        \
        hf_held_locks -= hf_lock_key(lock);     \
        int result = HF_NEXT(name)(lock);       \
        if (result != (success)) {              \
            hf_held_locks += hf_lock_key(lock); \
        }                                       \
        return result;                          \
    } while (0)

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    newest_mutex = mutex;
    return count_taken(HF_NEXT(pthread_mutex_lock)(mutex), mutex);
}

int pthread_mutex_trylock(pthread_mutex_t *mutex) { return count_taken(HF_NEXT(pthread_mutex_trylock)(mutex), mutex); }

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until) {
    return count_taken(HF_NEXT(pthread_mutex_timedlock)(mutex, until), mutex);
}

int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until) {
    return count_taken(HF_NEXT(pthread_mutex_clocklock)(mutex, clock, until), mutex);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) { LET_GO(pthread_mutex_unlock, mutex, 0); }

int pthread_rwlock_rdlock(pthread_rwlock_t *lock) { return count_taken(HF_NEXT(pthread_rwlock_rdlock)(lock), lock); }

int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock) { return count_taken(HF_NEXT(pthread_rwlock_tryrdlock)(lock), lock); }

int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *until) {
    return count_taken(HF_NEXT(pthread_rwlock_timedrdlock)(lock, until), lock);
}

int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until) {
    return count_taken(HF_NEXT(pthread_rwlock_clockrdlock)(lock, clock, until), lock);
}

int pthread_rwlock_wrlock(pthread_rwlock_t *lock) { return count_taken(HF_NEXT(pthread_rwlock_wrlock)(lock), lock); }

int pthread_rwlock_trywrlock(pthread_rwlock_t *lock) { return count_taken(HF_NEXT(pthread_rwlock_trywrlock)(lock), lock); }

int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *until) {
    return count_taken(HF_NEXT(pthread_rwlock_timedwrlock)(lock, until), lock);
}

int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until) {
    return count_taken(HF_NEXT(pthread_rwlock_clockwrlock)(lock, clock, until), lock);
}

int pthread_rwlock_unlock(pthread_rwlock_t *lock) { LET_GO(pthread_rwlock_unlock, lock, 0); }

int pthread_spin_lock(pthread_spinlock_t *lock) { return count_taken(HF_NEXT(pthread_spin_lock)(lock), lock); }

int pthread_spin_trylock(pthread_spinlock_t *lock) { return count_taken(HF_NEXT(pthread_spin_trylock)(lock), lock); }

int pthread_spin_unlock(pthread_spinlock_t *lock) { LET_GO(pthread_spin_unlock, lock, 0); }

// stdio's own calls do not come here; the walk sees them as frames. This is for programs that lock a stream themselves.

void flockfile(FILE *stream) {
    HF_NEXT(flockfile)(stream);
    hf_held_locks += hf_lock_key(stream);
}

int ftrylockfile(FILE *stream) { return count_taken(HF_NEXT(ftrylockfile)(stream), stream); }

void funlockfile(FILE *stream) {
    hf_held_locks -= hf_lock_key(stream);
    HF_NEXT(funlockfile)(stream);
}

// C11's locks are the same, but glibc does not call its own functions by name.

static inline int count_made(int result, const mtx_t *mutex) {
    if (result == thrd_success) {
        hf_held_locks += hf_lock_key(mutex);
    }
    return result;
}

int mtx_lock(mtx_t *mutex) {
    return count_made(HF_NEXT(mtx_lock)(mutex), mutex);
}

int mtx_trylock(mtx_t *mutex) {
    return count_made(HF_NEXT(mtx_trylock)(mutex), mutex);
}

int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict until) {
    return count_made(HF_NEXT(mtx_timedlock)(mutex, until), mutex);
}

int mtx_unlock(mtx_t *mutex) { LET_GO(mtx_unlock, mutex, thrd_success); }

// The guard of a C++ variable that is initialised when it is first used (Itanium C++ ABI, 3.3.3). While one thread initialises it, the
// others wait. Without a C++ runtime nobody calls these.

extern int __cxa_guard_acquire(uint64_t *guard);
extern void __cxa_guard_release(uint64_t *guard);
extern void __cxa_guard_abort(uint64_t *guard);

int __cxa_guard_acquire(uint64_t *guard) {
    int is_ours = HF_NEXT(__cxa_guard_acquire)(guard);
    if (is_ours != 0) {
        hf_held_locks += hf_lock_key(guard);
    }
    return is_ours;
}

void __cxa_guard_release(uint64_t *guard) {
    hf_held_locks -= hf_lock_key(guard);
    HF_NEXT(__cxa_guard_release)(guard);
}

void __cxa_guard_abort(uint64_t *guard) {
    hf_held_locks -= hf_lock_key(guard);
    HF_NEXT(__cxa_guard_abort)(guard);
}

// Foundation's NSConditionLock takes a mutex, waits until no owner is noted, notes the calling thread, and releases the mutex. unlock()
// takes the mutex, clears the owner and wakes all who wait (swift-corelibs-foundation, Sources/Foundation/NSLock.swift). So the lock is
// held from the call of pthread_self() in its two locking functions until a broadcast with the same mutex.

/// The locking functions of NSConditionLock: from … to.
static struct { uintptr_t low, high; } condition_locks[2];

static bool find_function(int index, const char *name) {
    uint64_t start;
    uint64_t end;
    if (hf_linked_function_bounds(name, &start, &end) != 0) {
        return false;
    }
    condition_locks[index].low = (uintptr_t)start;
    condition_locks[index].high = (uintptr_t)end;
    return start < end;
}

static bool find_condition_locks(void) {
    if (condition_locks[0].low != 0 && condition_locks[1].low != 0) {
        return true;
    }
    bool has_first = find_function(0, HF_CONDITION_LOCK);
    bool has_second = find_function(1, HF_CONDITION_LOCK_WHEN);
    return has_first && has_second;
}

/// Before main: a program that uses the class has loaded Foundation by then. pthread_self() may be called in a handler (signal-safety(7)),
/// so the function behind ours is looked up now.
__attribute__((constructor)) static void find_functions(void) {
    volatile pthread_t self = pthread_self();
    (void)self;
    (void)find_condition_locks();
}

pthread_t pthread_self(void) {
    uintptr_t caller = (uintptr_t)__builtin_return_address(0);
    for (int i = 0; i < 2; i += 1) {
        if (caller >= condition_locks[i].low && caller < condition_locks[i].high) {
            hf_own(newest_mutex);
        }
    }
    return HF_NEXT(pthread_self)();
}

int pthread_cond_broadcast(pthread_cond_t *condition) {
    hf_disown(newest_mutex);
    return HF_NEXT(pthread_cond_broadcast)(condition);
}

// A wait gives the mutex back to its caller, which may have taken others meanwhile.

int pthread_cond_wait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex) {
    int result = HF_NEXT(pthread_cond_wait)(condition, mutex);
    newest_mutex = mutex;
    return result;
}

int pthread_cond_timedwait(
    pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict until) {
    int result = HF_NEXT(pthread_cond_timedwait)(condition, mutex, until);
    newest_mutex = mutex;
    return result;
}

// MARK: Semaphores, groups and queues

// Each counts as held until the same thread gives it back. If another thread gives it back, the callout that waited or entered still counts
// as holding it, and is not resumed: nobody can tell whether that other thread would have come.

// libdispatch sleeps on semaphores, enters groups and suspends queues for its own purposes, and ends that on other threads.

/// Where its code is mapped: from … to.
static uintptr_t dispatch_low, dispatch_high;

/// Whether a return address is in libdispatch.
static inline bool is_dispatch(const void *caller) {
    return (uintptr_t)caller >= dispatch_low && (uintptr_t)caller < dispatch_high;
}

static __typeof__(&sem_post) next_sem_post(void) { return HF_NEXT(sem_post); }

/// Before main. sem_post() may be called in a handler (signal-safety(7)), so the function behind ours is looked up now. If libdispatch is
/// loaded later, its calls count.
__attribute__((constructor)) static void find_semaphore_functions(void) {
    (void)next_sem_post();
    void *function = dlsym(RTLD_NEXT, "dispatch_semaphore_wait");
    struct dl_find_object library;
    if (function != NULL && _dl_find_object(function, &library) == 0) {
        dispatch_low = (uintptr_t)library.dlfo_map_start;
        dispatch_high = (uintptr_t)library.dlfo_map_end;
    }
}

/// Counts a POSIX semaphore after a wait.
static inline int count_waited(int result, const sem_t *semaphore, const void *caller) {
    if (result == 0 && !is_dispatch(caller)) {
        hf_own(semaphore);
    }
    return result;
}

int sem_wait(sem_t *semaphore) {
    return count_waited(HF_NEXT(sem_wait)(semaphore), semaphore, __builtin_return_address(0));
}

int sem_trywait(sem_t *semaphore) {
    return count_waited(HF_NEXT(sem_trywait)(semaphore), semaphore, __builtin_return_address(0));
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until) {
    return count_waited(HF_NEXT(sem_timedwait)(semaphore, until), semaphore, __builtin_return_address(0));
}

int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict until) {
    return count_waited(HF_NEXT(sem_clockwait)(semaphore, clock, until), semaphore, __builtin_return_address(0));
}

int sem_post(sem_t *semaphore) {
    // Counted before the call: in between, the count is too low only by what is already free.
    bool was_owned = hf_disown(semaphore);
    int result = next_sem_post()(semaphore);
    if (result != 0 && was_owned) {
        hf_own(semaphore);
    }
    return result;
}

// Weak, because a program with a static standard library defines these functions itself (nothing is resumed there). In any other program a
// weak symbol of the executable comes before a library's, too (ld.so(8), LD_DYNAMIC_WEAK).

#define WEAK __attribute__((weak))

extern intptr_t dispatch_semaphore_wait(void *semaphore, uint64_t timeout);
extern intptr_t dispatch_semaphore_signal(void *semaphore);
extern void dispatch_group_enter(void *group);
extern void dispatch_group_leave(void *group);
extern void dispatch_suspend(void *object);
extern void dispatch_resume(void *object);

WEAK intptr_t dispatch_semaphore_wait(void *semaphore, uint64_t timeout) {
    intptr_t result = HF_NEXT(dispatch_semaphore_wait)(semaphore, timeout);
    if (result == 0 && !is_dispatch(__builtin_return_address(0))) {
        hf_own(semaphore);
    }
    return result;
}

WEAK intptr_t dispatch_semaphore_signal(void *semaphore) {
    if (!is_dispatch(__builtin_return_address(0))) {
        hf_disown(semaphore);
    }
    return HF_NEXT(dispatch_semaphore_signal)(semaphore);
}

WEAK void dispatch_group_enter(void *group) {
    HF_NEXT(dispatch_group_enter)(group);
    if (!is_dispatch(__builtin_return_address(0))) {
        hf_own(group);
    }
}

WEAK void dispatch_group_leave(void *group) {
    if (!is_dispatch(__builtin_return_address(0))) {
        hf_disown(group);
    }
    HF_NEXT(dispatch_group_leave)(group);
}

WEAK void dispatch_suspend(void *object) {
    HF_NEXT(dispatch_suspend)(object);
    if (!is_dispatch(__builtin_return_address(0))) {
        hf_own(object);
    }
}

WEAK void dispatch_resume(void *object) {
    if (!is_dispatch(__builtin_return_address(0))) {
        hf_disown(object);
    }
    HF_NEXT(dispatch_resume)(object);
}

#pragma clang section text = ""

/// The class of NSConditionLock, by the function that makes it; null in a program that has no Foundation in itself.
extern void condition_lock_class(void) __attribute__((weak)) __asm__("$s10Foundation15NSConditionLockCMa");

bool hf_capture_counts_condition_locks(void) {
    // Only checks whether it is loaded, and keeps it loaded: no library of the toolchain is ever unloaded.
    if (!hf_capture_runtime_is_dynamic()) {
        // Without the class there is nothing to count.
        return condition_lock_class == NULL || find_condition_locks();
    }
    return dlopen("libFoundation.so", RTLD_LAZY | RTLD_NOLOAD) == NULL || find_condition_locks();
}

bool hf_is_in_lock_function(uint64_t address) {
    return address >= (uint64_t)__start_holdfast_locks && address < (uint64_t)__stop_holdfast_locks;
}

#else


bool hf_capture_counts_condition_locks(void) { return true; }

bool hf_is_in_lock_function(uint64_t address) {
    (void)address;
    return false;
}

#endif
