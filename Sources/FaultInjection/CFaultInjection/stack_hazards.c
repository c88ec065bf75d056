// Faults that leave the stack in a state of its own.

#include "fault_function.h"
#include "hazard_injection.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    /// What each frame of the recursion allocates.
    frame_allocation_bytes = 64,
    watched_words = 64,
    pause_microseconds = 200,
};

static const uint64_t watched_value = 0x5157a7c4ed5157a7;

static atomic_uint_fast64_t watcher_rounds;
static atomic_uint_fast64_t watcher_damage;

/// Its frame is smaller than what malloc needs below it, so that it is malloc which runs into the guard.
HF_FAULT_FUNCTION void faultAllocatingOverflow(void) {
    static volatile bool deeper = true;
    void *volatile block = malloc(frame_allocation_bytes);
    if (deeper) {
        faultAllocatingOverflow();
    }
    free(block);
}

static void *watch(void *frame) {
    const volatile uint64_t *words = frame;
    for (;;) {
        for (int i = 0; i < watched_words; i += 1) {
            if (words[i] != watched_value) {
                atomic_fetch_add(&watcher_damage, 1);
            }
        }
        atomic_fetch_add(&watcher_rounds, 1);
        usleep(pause_microseconds);
    }
    return NULL;
}

HF_FAULT_FUNCTION void faultWatchedFrame(void) {
    volatile uint64_t words[watched_words];
    for (int i = 0; i < watched_words; i += 1) {
        words[i] = watched_value;
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, watch, (void *)words) != 0) {
        return;
    }
    pthread_detach(thread);
    uint64_t seen = hf_watcher_rounds();
    while (hf_watcher_rounds() == seen) {
        sched_yield();
    }
    __asm__ volatile("ud2");
    words[0] = 0;
}

uint64_t hf_watcher_rounds(void) { return atomic_load(&watcher_rounds); }

uint64_t hf_watcher_damage(void) { return atomic_load(&watcher_damage); }

HF_FAULT_FUNCTION void faultGarbageStackPointer(void) {
    __asm__ volatile("movq $0x1000, %%rsp\n\tpushq %%rax" ::: "memory");
}

HF_FAULT_FUNCTION void faultNonCanonicalStackPointer(void) {
    __asm__ volatile("movabsq $0x8123456789abcde0, %%rax\n\tmovq %%rax, %%rsp\n\tpushq %%rax" ::: "rax", "memory");
}
