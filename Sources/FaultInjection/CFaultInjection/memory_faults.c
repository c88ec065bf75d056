// Faults by an access or an instruction. In assembly where C leaves the behaviour undefined, since a compiler may then leave it out.

#include "fault_function.h"
#include "fault_injection.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// --- Memory ----------------------------------------------------------------------------------------------------------

enum {
    /// Below every mapping: vm.mmap_min_addr keeps the first page free.
    null_page_offset = 0x18,
    /// Two pages.
    file_bytes = 8192,
    /// Small enough not to step over a guard page.
    frame_bytes = 256,
};

/// The lower half of the address space, between where executables and where libraries are mapped.
static const uintptr_t unmapped_address = 0x0000123456789abc;

/// Neither 48-bit nor 57-bit sign extended.
static const uintptr_t non_canonical_address = 0x8123456789abcdef;

HF_FAULT_FUNCTION void faultNullRead(void) {
    const volatile int *pointer = hf_fault_pointer(null_page_offset);
    (void)*pointer;
}

HF_FAULT_FUNCTION void faultNullWrite(void) {
    volatile int *pointer = hf_fault_pointer(null_page_offset);
    *pointer = 1;
}

HF_FAULT_FUNCTION void faultWildPointer(void) {
    const volatile char *pointer = hf_fault_pointer(unmapped_address);
    (void)*pointer;
}

HF_FAULT_FUNCTION void faultNonCanonical(void) {
    const volatile char *pointer = hf_fault_pointer(non_canonical_address);
    (void)*pointer;
}

HF_FAULT_FUNCTION void faultReadOnlyWrite(void) {
    // A function's code, not a constant: Swift's start-up object marks .rodata writable, and gold maps it so.
    volatile char *pointer = hf_fault_pointer((uintptr_t)faultReadOnlyWrite);
    *pointer = 0;
}

HF_FAULT_FUNCTION void faultBusPastEof(void) {
    int file = memfd_create("bus-past-eof", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, file_bytes) != 0) {
        return;
    }
    const volatile char *bytes = mmap(NULL, file_bytes, PROT_READ, MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED || ftruncate(file, 0) != 0) {
        return;
    }
    close(file);
    (void)bytes[file_bytes / 2];
}

HF_FAULT_FUNCTION void faultStackOverflow(void) {
    // Never false, but the optimiser cannot know, nor the warning against endless recursion.
    static volatile bool deeper = true;
    volatile char frame[frame_bytes];
    frame[0] = 1;
    if (deeper) {
        faultStackOverflow();
    }
    // Used after the call: the frame must stay.
    frame[frame_bytes - 1] = frame[0];
}

// --- Instructions ----------------------------------------------------------------------------------------------------

typedef void (*Function)(void);

/// A valid function body (`ret`), in a section that is not executable.
static unsigned char data[16] = {0xc3};

HF_FAULT_FUNCTION void faultNullCall(void) {
    Function function = (Function)hf_fault_pointer(0);
    function();
}

HF_FAULT_FUNCTION void faultDataJump(void) {
    Function function = (Function)hf_fault_pointer((uintptr_t)data);
    function();
}

HF_FAULT_FUNCTION void faultDivideByZero(void) {
    int quotient = 1;
    __asm__ volatile("cltd\n\tidivl %1" : "+a"(quotient) : "r"(0) : "edx", "cc");
}

HF_FAULT_FUNCTION void faultUd2(void) {
    __asm__ volatile("ud2");
}

HF_FAULT_FUNCTION void faultInt3(void) {
    // The program counter is that of the next instruction: the `nop` keeps it on this line.
    __asm__ volatile("int3\n\tnop");
}

// --- The stack -------------------------------------------------------------------------------------------------------

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
