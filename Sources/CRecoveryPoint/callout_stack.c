// Stacks for callouts: mapped, guarded, given back in part once something was abandoned on them.

#include "recovery_point.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// A frame larger than the guard could step over it (measured: a 1 MB frame does with a 4 KiB guard); 64 KiB stops every frame
// for which the compiler emits no probe loop of its own.
enum { guard_size = 64 * 1024 };

// What the kernel and a leaf function may still use below the stack pointer: the ABI's red zone, and a page to spare.
enum { red_zone = 128 };

static uintptr_t page_size(void) { return (uintptr_t)sysconf(_SC_PAGESIZE); }

static uintptr_t round_down(uintptr_t value, uintptr_t unit) { return value - value % unit; }

HFCalloutStack *hf_callout_stack_create(size_t size) {
    uintptr_t page = page_size();
    if (size < 4 * page || size > SIZE_MAX / 2) {
        errno = EINVAL;
        return NULL;
    }
    size = round_down(size + page - 1, page);
    HFCalloutStack *stack = calloc(1, sizeof *stack);
    if (stack == NULL) {
        return NULL;
    }
    // MAP_NORESERVE: most of a stack is never touched, so it must not count against overcommit.
    void *mapping = mmap(
        NULL, size + guard_size, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) {
        int error = errno;
        free(stack);
        errno = error;
        return NULL;
    }
    if (mprotect(mapping, guard_size, PROT_NONE) != 0) {
        int error = errno;
        munmap(mapping, size + guard_size);
        free(stack);
        errno = error;
        return NULL;
    }
    stack->mapping = (uintptr_t)mapping;
    stack->low = stack->mapping + guard_size;
    stack->high = stack->low + size;
    return stack;
}

void hf_callout_stack_destroy(HFCalloutStack *stack) {
    if (!stack->abandoned) {
        munmap((void *)stack->mapping, stack->high - stack->mapping);
    }
    free(stack);
}

size_t hf_callout_stack_bury(HFCalloutStack *stack) {
    uintptr_t stack_pointer = stack->abandoned_at;
    uintptr_t kept = stack->low;
    if (stack_pointer > stack->low + red_zone && stack_pointer <= stack->high) {
        kept = round_down(stack_pointer - red_zone, page_size());
    }
    if (kept > stack->mapping) {
        munmap((void *)stack->mapping, kept - stack->mapping);
    }
    size_t bytes = stack->high - kept;
    free(stack);
    return bytes;
}
