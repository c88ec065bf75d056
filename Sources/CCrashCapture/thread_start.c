// Gives every thread of the process an alternate signal stack and a mask without the signals of faults, by standing before
// pthread_create(3).
//
// A stack overflow leaves its thread no other stack for a handler to run on. Threads of libdispatch, of Swift's pool and of
// C libraries are all made by this call, and a symbol of the executable comes before that of a library (ld.so(8)).
// Ordinary code, called at any time.

#include "crash_capture.h"
#include "next_function.h"
#include "signal_mask.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

typedef struct Start {
    void *(*function)(void *);
    void *argument;
} Start;

// In a section of its own, so that a walk can tell where it is: it is in the executable, and not the application's.
__attribute__((section("hf_thread_start_code"))) static void *hf_thread_start(void *argument) {
    Start start = *(Start *)argument;
    free(argument);
    // Without one, an overflow of this thread's stack has no record: nothing else depends on it.
    (void)hf_capture_prepare_thread();
    // It has the mask of whoever made it, maybe from before the program, or the one of its attributes.
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

#else

bool hf_is_thread_start(uint64_t address) {
    (void)address;
    return false;
}

#endif
