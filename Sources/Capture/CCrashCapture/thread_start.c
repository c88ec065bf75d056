// Gives every thread of the process an alternate signal stack and a mask without the signals of faults, by standing before
// pthread_create(3) and the other functions that make threads.
//
// After a stack overflow a handler needs another stack to run on. Threads of libdispatch, of Swift's pool and of C libraries are all made
// by this call, and a symbol of the executable comes before a library's (ld.so(8)).
//
// Ordinary code, called at any time.

#include "async_state.h"
#include "crash_capture.h"
#include "interposition.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <threads.h>
#include <time.h>

// MARK: The signal stack

// The handler itself needs little, but handlers that we chain to may need more: 16 KiB was too little for others (Wasmtime, folly). A frame
// larger than a small guard steps over it.
enum { stack_size = 256 * 1024, guard_size = 64 * 1024 };

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static int key_error;

/// Stacks of threads that have ended, for those to come. To unmap one costs an interrupt on every processor that runs the process, and its
/// pages would have to be cleared again: 20 to 140 us of each abandoned job, which ends its thread (perf record of a storm).
static _Atomic(void *) spare_stacks[8];

enum { spare_stack_count = sizeof spare_stacks / sizeof *spare_stacks };

static void *make_stack(void) {
    for (int i = 0; i < spare_stack_count; i += 1) {
        void *mapping = atomic_exchange(&spare_stacks[i], NULL);
        if (mapping != NULL) {
            return mapping;
        }
    }
    void *mapping = mmap(
        NULL, stack_size + guard_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (mapping == MAP_FAILED) {
        return NULL;
    }
    if (mprotect(mapping, guard_size, PROT_NONE) != 0) {
        int error = errno;
        munmap(mapping, stack_size + guard_size);
        errno = error;
        return NULL;
    }
    return mapping;
}

static void free_stack(void *mapping) {
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
    for (int i = 0; i < spare_stack_count; i += 1) {
        void *empty = NULL;
        if (atomic_compare_exchange_strong(&spare_stacks[i], &empty, mapping)) {
            return;
        }
    }
    munmap(mapping, stack_size + guard_size);
}

static void make_key(void) { key_error = pthread_key_create(&key, free_stack); }

/// Notes where the thread's own stack lies, so that a handler can tell an overflow from a stray pointer.
static void note_stack(void) {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return;
    }
    void *low = NULL;
    size_t size = 0;
    size_t guard = 0;
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_getguardsize(&attributes, &guard);
    pthread_attr_destroy(&attributes);
    hf_thread_stack = (HFThreadStack){.low = (uintptr_t)low, .high = (uintptr_t)low + size, .guard = guard};
}

int hf_capture_prepare_thread(void) {
    pthread_once(&key_once, make_key);
    if (key_error != 0) {
        return key_error;
    }
    if (pthread_getspecific(key) != NULL) {
        return 0;
    }
    void *mapping = make_stack();
    if (mapping == NULL) {
        return errno;
    }
    stack_t stack = {.ss_sp = (char *)mapping + guard_size, .ss_size = stack_size};
    int error = sigaltstack(&stack, NULL) == 0 ? pthread_setspecific(key, mapping) : errno;
    if (error != 0) {
        free_stack(mapping);
        return error;
    }
    note_stack();
    return 0;
}

// MARK: Standing before the functions that make threads

#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

typedef struct Start {
    void *(*function)(void *);
    void *argument;
} Start;

// In a section of its own, so that a walk can recognise it: it is in the executable, but not the application's.
__attribute__((section("hf_thread_start_code"))) static void *hf_thread_start(void *argument) {
    Start start = *(Start *)argument;
    free(argument);
    // Without a signal stack, an overflow of this thread's stack has no record. Nothing else depends on it.
    (void)hf_capture_prepare_thread();
    // The mask is inherited from the thread that made this one, which may be older than the program's code, or comes from its attributes.
    hf_unblock_fault_signals();
    return start.function(start.argument);
}

extern const char __start_hf_thread_start_code[];
extern const char __stop_hf_thread_start_code[];

bool hf_is_thread_start(uint64_t address) {
    return address >= (uint64_t)(uintptr_t)__start_hf_thread_start_code &&
           address < (uint64_t)(uintptr_t)__stop_hf_thread_start_code;
}

int pthread_create(
    pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*function)(void *),
    void *restrict argument) {
    Start *start = malloc(sizeof *start);
    if (start == NULL) {
        return EAGAIN;
    }
    *start = (Start){function, argument};
    int error = HF_NEXT(pthread_create)(thread, attributes, hf_thread_start, start);
    if (error != 0) {
        free(start);
    }
    return error;
}

// The C library makes the threads below by calls of its own, which do not reach the function above.

typedef struct StandardStart {
    thrd_start_t function;
    void *argument;
} StandardStart;

static void *begin_standard(void *argument) {
    StandardStart start = *(StandardStart *)argument;
    free(argument);
    return (void *)(intptr_t)start.function(start.argument);
}

// A thread of C11 is one of POSIX that returns an int (nptl/thrd_create.c); thrd_join takes the low half of a pointer, too.
int thrd_create(thrd_t *thread, thrd_start_t function, void *argument) {
    StandardStart *start = malloc(sizeof *start);
    if (start == NULL) {
        return thrd_nomem;
    }
    *start = (StandardStart){function, argument};
    int error = pthread_create(thread, NULL, begin_standard, start);
    if (error == 0) {
        return thrd_success;
    }
    free(start);
    return error == EAGAIN ? thrd_nomem : thrd_error;
}

/// The function that a timer calls on a thread of its own.
typedef struct Notification {
    void (*function)(union sigval);
    union sigval value;
    struct Notification *next;
} Notification;

/// One for each function and value, never freed: a thread may be about to begin when its timer is deleted.
static _Atomic(Notification *) notifications;

static Notification *notification(void (*function)(union sigval), union sigval value) {
    Notification *first = atomic_load(&notifications);
    for (Notification *known = first; known != NULL; known = known->next) {
        if (known->function == function && known->value.sival_ptr == value.sival_ptr) {
            return known;
        }
    }
    Notification *new = malloc(sizeof *new);
    if (new != NULL) {
        *new = (Notification){function, value, first};
        // If two threads add equal ones, that does no harm.
        while (!atomic_compare_exchange_weak(&notifications, &new->next, new)) {
        }
    }
    return new;
}

static void notify(union sigval value) {
    const Notification *notification = value.sival_ptr;
    (void)hf_capture_prepare_thread();
    hf_unblock_fault_signals();
    notification->function(notification->value);
}

// Its threads block all signals (sysdeps/unix/sysv/linux/timer_routines.c).
int timer_create(clockid_t clock, struct sigevent *restrict event, timer_t *restrict timer) {
    if (event == NULL || event->sigev_notify != SIGEV_THREAD) {
        return HF_NEXT(timer_create)(clock, event, timer);
    }
    struct sigevent copy = *event;
    copy.sigev_notify_function = notify;
    copy.sigev_value.sival_ptr = notification(event->sigev_notify_function, event->sigev_value);
    if (copy.sigev_value.sival_ptr == NULL) {
        errno = EAGAIN;
        return -1;
    }
    return HF_NEXT(timer_create)(clock, &copy, timer);
}

#else

bool hf_is_thread_start(uint64_t address) {
    (void)address;
    return false;
}

#endif
