// Stacks for callouts: mapped, guarded, and partly kept for ever once something was abandoned on them.
//
// Kept pages must not cost a mapping each (vm.max_map_count is 65,530). So after the first fault stacks are laid out in lanes: ranges of
// reserved addresses with one stack at a time. The next stack begins directly below the pages that the last one keeps, with the same
// protection and flags. So the kernel merges them into one mapping (vma_merge() in mm/mmap.c), and their page tables are dense. A lane is
// reserved because the kernel gives out addresses from the top down: other mappings would soon lie below the kept pages.
//
// Life of a lane: reserved -> has a stack -> buried: free for the next stack, or used up -> its rest is unmapped.

#include "recovery_point.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// A frame larger than the guard could step over it (measured: a 1 MB frame does with a 4 KiB guard). 64 KiB stops every frame for which the
// compiler emits no probe loop.
enum { guard_size = 64 * 1024 };

// What the kernel and a leaf function may still use below the stack pointer: the ABI's red zone, and a page to spare.
enum { red_zone = 128 };

// Only addresses: enough for a few thousand abandoned callouts in each lane.
static const size_t lane_size = (size_t)64 << 20;

// More loops than that do not fault at the same time; further lanes are unmapped.
enum { maximum_free_lanes = 16 };

// More loops than that do not fault before they sleep again; further stacks are settled at once.
enum { maximum_unsettled = 16 };

typedef struct Lane {
    uintptr_t low;
    /// Where the next stack begins, downwards.
    uintptr_t high;
} Lane;

// Held for a few instructions. A thread that does not get it goes on without lanes: in a child of fork(2), another thread of the parent may
// hold it for ever.
static atomic_flag lock = ATOMIC_FLAG_INIT;
enum { attempts = 10000 };

// Protected by `lock`.
static Lane free_lanes[maximum_free_lanes];
static int free_lane_count;
/// How many stacks or lanes were buried for which no lane was reserved yet.
static int wanted_lanes;
/// Buried stacks that the kernel was not told of yet: it is when there is time, or before the next stack is made.
static HFCalloutStack *unsettled[maximum_unsettled];
static int unsettled_count;

static uintptr_t page_size(void) { return (uintptr_t)sysconf(_SC_PAGESIZE); }

static uintptr_t round_down(uintptr_t value, uintptr_t unit) { return value - value % unit; }

static bool try_lock(void) {
    for (int i = 0; i < attempts; i += 1) {
        if (!atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) {
            return true;
        }
        __builtin_ia32_pause();
    }
    return false;
}

static void unlock(void) { atomic_flag_clear_explicit(&lock, memory_order_release); }

/// Takes the free lane with room that was used last. Called with the lock held.
static bool take_lane(size_t size, Lane *lane) {
    for (int i = free_lane_count - 1; i >= 0; i -= 1) {
        if (free_lanes[i].high - free_lanes[i].low >= size) {
            *lane = free_lanes[i];
            free_lane_count -= 1;
            free_lanes[i] = free_lanes[free_lane_count];
            return true;
        }
    }
    return false;
}

/// Keeps a lane for the next stack; returns whether there is a place for it.
static bool keep_lane(Lane lane) {
    if (!try_lock()) {
        return false;
    }
    bool is_kept = free_lane_count < maximum_free_lanes;
    if (is_kept) {
        free_lanes[free_lane_count] = lane;
        free_lane_count += 1;
    }
    unlock();
    return is_kept;
}

/// Maps addresses without access to them. MAP_NORESERVE: most of a stack is never touched, so it must not count against overcommit when it
/// is made accessible. MAP_STACK: no huge pages, if the kernel honours it.
static void *reserve(void *address, size_t size, int flags) {
    return mmap(address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE | flags, -1, 0);
}

/// Finds or reserves addresses for a stack of `size` bytes with its guard.
static bool make_lane(size_t size, Lane *lane) {
    bool is_wanted = false;
    if (try_lock()) {
        bool is_found = take_lane(size, lane);
        is_wanted = !is_found && wanted_lanes > 0;
        if (is_wanted) {
            wanted_lanes -= 1;
        }
        unlock();
        if (is_found) {
            return true;
        }
    }
    // Before the first fault, and if addresses are scarce (RLIMIT_AS), there is room for one stack.
    size_t room = is_wanted && size <= lane_size / 4 ? lane_size : size;
    void *mapping = reserve(NULL, room, 0);
    if (mapping == MAP_FAILED && room > size) {
        room = size;
        mapping = reserve(NULL, room, 0);
    }
    if (mapping == MAP_FAILED) {
        return false;
    }
    lane->low = (uintptr_t)mapping;
    lane->high = lane->low + room;
    return true;
}

HFCalloutStack *hf_callout_stack_create(size_t size) {
    // Frees their lanes for this stack.
    hf_callout_stack_settle();
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
    Lane lane;
    if (!make_lane(size + guard_size, &lane)) {
        int error = errno;
        free(stack);
        errno = error;
        return NULL;
    }
    // The rest of the lane is the guard.
    if (mprotect((void *)(lane.high - size), size, PROT_READ | PROT_WRITE) != 0) {
        int error = errno;
        munmap((void *)lane.low, lane.high - lane.low);
        free(stack);
        errno = error;
        return NULL;
    }
    stack->mapping = lane.low;
    stack->low = lane.high - size;
    stack->high = lane.high;
    return stack;
}

/// Gives back the part of a stack's lane that ends at `end`: to the next stack if there is room for one, or to the kernel. Returns whether
/// the lane lives on.
static bool give_back(const HFCalloutStack *stack, uintptr_t end) {
    size_t size = stack->high - stack->low + guard_size;
    // The pages go; the addresses stay ours.
    if (end - stack->mapping >= size && stack->high - stack->mapping > size
        && reserve((void *)stack->low, end - stack->low, MAP_FIXED) != MAP_FAILED
        && keep_lane((Lane){.low = stack->mapping, .high = end})) {
        return true;
    }
    if (end > stack->mapping) {
        munmap((void *)stack->mapping, end - stack->mapping);
    }
    return false;
}

void hf_callout_stack_destroy(HFCalloutStack *stack) {
    if (!stack->abandoned) {
        give_back(stack, stack->high);
    }
    free(stack);
}

/// The lowest address of the part that an abandoned callout keeps.
static uintptr_t kept_low(const HFCalloutStack *stack) {
    uintptr_t stack_pointer = stack->abandoned_at;
    if (stack_pointer > stack->low + red_zone && stack_pointer <= stack->high) {
        return round_down(stack_pointer - red_zone, page_size());
    }
    return stack->low;
}

static void settle(HFCalloutStack *stack) {
    if (!give_back(stack, kept_low(stack)) && try_lock()) {
        wanted_lanes += 1;
        unlock();
    }
    free(stack);
}

size_t hf_callout_stack_bury(HFCalloutStack *stack) {
    size_t bytes = stack->high - kept_low(stack);
    if (try_lock()) {
        bool is_kept = unsettled_count < maximum_unsettled;
        if (is_kept) {
            unsettled[unsettled_count] = stack;
            unsettled_count += 1;
        }
        unlock();
        if (is_kept) {
            return bytes;
        }
    }
    settle(stack);
    return bytes;
}

void hf_callout_stack_settle(void) {
    for (;;) {
        HFCalloutStack *stack = NULL;
        if (!try_lock()) {
            return;
        }
        if (unsettled_count > 0) {
            unsettled_count -= 1;
            stack = unsettled[unsettled_count];
        }
        unlock();
        if (stack == NULL) {
            return;
        }
        settle(stack);
    }
}

void hf_callout_stack_touch(HFCalloutStack *stack) {
    for (uintptr_t page = 1; page <= 2; page += 1) {
        *(volatile char *)(stack->high - page * page_size()) = 0;
    }
}
