// Faults in the C library, and in what calls back.

// The assertion is the fault: it stays in release builds.
#undef NDEBUG

#include "fault_function.h"
#include "fault_injection.h"

#include <assert.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- What the C library finds, or sends ------------------------------------------------------------------------------

enum {
    /// Fits the allocator's per-thread cache, which checks for double frees.
    small_block_bytes = 64,
    /// Does not fit it: a free of such a block checks the block's header at once. Comes from the end of the heap, and not from a gap.
    large_block_bytes = 100000,
    /// The bytes of a block's header that come before it, and so after the block below: its size.
    header_bytes = 8,
    /// A header of these bytes claims a size that is not a multiple of 16, in the main arena, not mapped by itself.
    smashing_byte = 0x09,
};

HF_FAULT_FUNCTION void faultAbort(void) {
    abort();
}

HF_FAULT_FUNCTION void faultAssert(void) {
    int64_t answer = hf_fault_opaque(41);
    assert(answer == 42);
}

HF_FAULT_FUNCTION void faultDoubleFree(void) {
    uintptr_t block = (uintptr_t)malloc(small_block_bytes);
    free(hf_fault_pointer(block));
    free(hf_fault_pointer(block));
}

HF_FAULT_FUNCTION void faultHeapSmash(void) {
    // Between blocks that stay: a thread that frees the neighbour of a block looks at its header, too, and would find the fault first.
    uintptr_t below = (uintptr_t)malloc(large_block_bytes);
    uintptr_t block = (uintptr_t)malloc(large_block_bytes);
    uintptr_t above = (uintptr_t)malloc(large_block_bytes);
    (void)hf_fault_pointer(below);
    (void)hf_fault_pointer(above);
    // As an overflow of the block below would: in a heap that has been used, only this address is sure to be a header.
    memset(hf_fault_pointer(block - header_bytes), smashing_byte, header_bytes);
    free(hf_fault_pointer(block));
}

HF_FAULT_FUNCTION void faultRaiseSegv(void) {
    raise(SIGSEGV);
}

// --- Inside of it, or of what it calls back --------------------------------------------------------------------------

enum {
    /// Not kept in the allocator's per-thread cache (malloc/malloc.c, tcache): a free puts the block on the unsorted list.
    unsorted_block_bytes = 2040,
    /// Larger, so that the allocator looks at the whole list for it, and no multiple of what a program asks for otherwise.
    next_block_bytes = 3416,
    /// As many as cannot all come out of the gaps of a heap that has been used.
    block_count = 32,
    /// From one block to the next where they lie side by side: with the header, in multiples of 16.
    block_stride = 2048,
    sorted_values = 8,
};

/// Nothing is mapped there.
static const uintptr_t unmapped_address = 0x0000123456789ab0;

/// What __stack_chk_fail is declared as nowhere: compilers call it by themselves.
extern void __stack_chk_fail(void);

static HF_FAULT_FUNCTION int fault_in_comparison(const void *left, const void *right) {
    __asm__ volatile("ud2");
    return *(const int *)left - *(const int *)right;
}

HF_FAULT_FUNCTION void faultQsortComparator(void) {
    int values[sorted_values];
    for (int i = 0; i < sorted_values; i += 1) {
        values[i] = sorted_values - i;
    }
    qsort(values, sorted_values, sizeof values[0], fault_in_comparison);
}

HF_FAULT_FUNCTION void faultMallocLock(void) {
    uintptr_t blocks[block_count];
    for (int i = 0; i < block_count; i += 1) {
        blocks[i] = (uintptr_t)malloc(unsorted_block_bytes);
    }
    for (int i = 1; i + 1 < block_count; i += 1) {
        // Between two that are in use: it is not joined to anything when it is freed.
        if (blocks[i] - blocks[i - 1] != block_stride || blocks[i + 1] - blocks[i] != block_stride) {
            continue;
        }
        free(hf_fault_pointer(blocks[i]));
        // The second word of a free block links it to the one before it: malloc reads through the link under the arena's lock.
        *(volatile uintptr_t *)hf_fault_pointer(blocks[i] + sizeof(uintptr_t)) = unmapped_address;
        void *volatile next = malloc(next_block_bytes);
        free(next);
        return;
    }
}

HF_FAULT_FUNCTION void faultStackSmash(void) {
    __stack_chk_fail();
}

// --- While a lock is held that the next caller needs -----------------------------------------------------------------

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t readers_writer_lock = PTHREAD_RWLOCK_INITIALIZER;

HF_FAULT_FUNCTION void faultPthreadMutex(void) {
    pthread_mutex_lock(&mutex);
    __asm__ volatile("ud2");
    pthread_mutex_unlock(&mutex);
}

HF_FAULT_FUNCTION void faultPthreadRwlock(void) {
    pthread_rwlock_wrlock(&readers_writer_lock);
    __asm__ volatile("ud2");
    pthread_rwlock_unlock(&readers_writer_lock);
}

HF_FAULT_FUNCTION void faultStdioLock(void) {
    flockfile(stdout);
    __asm__ volatile("ud2");
    funlockfile(stdout);
}

/// Called with the loader's lock held: dl_iterate_phdr(3).
static HF_FAULT_FUNCTION int fault_at_first_object(struct dl_phdr_info *info, size_t size, void *argument) {
    (void)info, (void)size, (void)argument;
    __asm__ volatile("ud2");
    return 1;
}

HF_FAULT_FUNCTION void faultLoaderLock(void) {
    dl_iterate_phdr(fault_at_first_object, NULL);
}

// --- A library of the executable, as SwiftPM links its C targets -----------------------------------------------------

HF_FAULT_FUNCTION void hf_call_back(void (*body)(void *), void *context) {
    body(context);
    hf_fault_returned();
}

volatile int hf_inlined_calls;

int hf_inlined_calls_under_way(void) { return hf_inlined_calls; }

/// The innermost protected call that is under way: as interpreters and parsers keep it, a chain through the stack.
static struct Protection {
    jmp_buf buffer;
    struct Protection *outer;
} *innermost;

HF_FAULT_FUNCTION int hf_call_protected(void (*body)(void *), void *context) {
    struct Protection protection;
    protection.outer = innermost;
    innermost = &protection;
    int outcome = setjmp(protection.buffer);
    if (outcome == 0) {
        body(context);
    }
    innermost = protection.outer;
    return outcome;
}

void hf_fail_protected(void) {
    if (innermost != NULL) {
        longjmp(innermost->buffer, 1);
    }
}

// --- What all faults need --------------------------------------------------------------------------------------------

static atomic_uint_fast64_t returned;

__attribute__((noinline)) int64_t hf_fault_opaque(int64_t value) {
    __asm__ volatile("" : "+r"(value));
    return value;
}

void hf_fault_returned(void) {
    atomic_fetch_add_explicit(&returned, 1, memory_order_relaxed);
}

uint64_t hf_fault_returned_count(void) {
    return atomic_load_explicit(&returned, memory_order_relaxed);
}
