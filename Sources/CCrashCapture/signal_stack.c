// Alternate signal stacks: one a thread, guarded, freed when the thread ends.

#include "async_state.h"
#include "crash_capture.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>

// The handler itself needs little, but handlers that we chain to may not: 16 KiB was too little for others (Wasmtime,
// folly), and a frame larger than a small guard steps over it.
enum { stack_size = 256 * 1024, guard_size = 64 * 1024 };

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static int key_error;

static void free_stack(void *mapping) {
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
    munmap(mapping, stack_size + guard_size);
}

static void make_key(void) { key_error = pthread_key_create(&key, free_stack); }

void hf_capture_name_thread(const char *name) { prctl(PR_SET_NAME, name); }

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
    void *mapping = mmap(
        NULL, stack_size + guard_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (mapping == MAP_FAILED) {
        return errno;
    }
    stack_t stack = {.ss_sp = (char *)mapping + guard_size, .ss_size = stack_size};
    if (mprotect(mapping, guard_size, PROT_NONE) != 0 || sigaltstack(&stack, NULL) != 0) {
        int error = errno;
        munmap(mapping, stack_size + guard_size);
        return error;
    }
    int error = pthread_setspecific(key, mapping);
    if (error != 0) {
        free_stack(mapping);
        return error;
    }
    note_stack();
    return 0;
}
