// Counts what a thread holds by a count and not by a lock: semaphores that it waited for, groups of libdispatch that it entered, queues and
// sources of libdispatch that it suspended. By standing before the functions, as lock_tracking.c does.
//
// Each counts as held until the same thread gives it back. One that another thread gives back looks alike, and so the callout is not resumed
// that has waited or entered: nobody can tell whether that other thread would still have come.
// Ordinary code, called at any time: also before main, and in a forked child.

#include "lock_count.h"

#include <dlfcn.h>
#include <semaphore.h>
#include <stddef.h>
#include <time.h>

#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

// See lock_tracking.c.
#pragma clang section text = "holdfast_locks"

#include "next_function.h"

enum { most_owned = 16 };

/// By whose it is. What another thread lets go stays here, which the next callout does not see: only differences count.
static _Thread_local const void *owned[most_owned] __attribute__((tls_model("initial-exec")));

void hf_own(const void *thing) {
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

bool hf_disown(const void *thing) {
    for (int i = most_owned - 1; i >= 0; i -= 1) {
        if (owned[i] == thing && thing != NULL) {
            owned[i] = NULL;
            hf_held_locks -= hf_lock_key(thing);
            return true;
        }
    }
    return false;
}

// libdispatch sleeps on semaphores, enters groups and suspends queues for purposes of its own, and ends that on other threads.

/// Where its code is mapped: from … to.
static uintptr_t dispatch_low, dispatch_high;

/// Whether a return address is in libdispatch.
static inline bool is_dispatch(const void *caller) {
    return (uintptr_t)caller >= dispatch_low && (uintptr_t)caller < dispatch_high;
}

static __typeof__(&sem_post) next_sem_post(void) { return HF_NEXT(sem_post); }

/// Before main. sem_post() may be called in a handler (signal-safety(7)): what ours stands before is looked for now. A libdispatch
/// that is loaded later is not known, and counts.
__attribute__((constructor)) static void find_functions(void) {
    (void)next_sem_post();
    void *function = dlsym(RTLD_NEXT, "dispatch_semaphore_wait");
    struct dl_find_object library;
    if (function != NULL && _dl_find_object(function, &library) == 0) {
        dispatch_low = (uintptr_t)library.dlfo_map_start;
        dispatch_high = (uintptr_t)library.dlfo_map_end;
    }
}

/// Counts a POSIX semaphore that was waited for.
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
    // Before it is let go: between the two the count is too low only for what is free already.
    bool was_owned = hf_disown(semaphore);
    int result = next_sem_post()(semaphore);
    if (result != 0 && was_owned) {
        hf_own(semaphore);
    }
    return result;
}

// Weak, because a program with a static standard library has these functions itself (nothing is resumed there). In any other program a weak
// symbol of the executable comes before a library's, too (ld.so(8), LD_DYNAMIC_WEAK).

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

#endif
