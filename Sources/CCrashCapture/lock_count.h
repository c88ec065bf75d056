// How the locks of a thread are counted. Ordinary code, called at any time, also before main.

#ifndef HF_LOCK_COUNT_H
#define HF_LOCK_COUNT_H

#include "recovery_point.h"

/// What a lock adds to hf_held_locks while it is held: one, and above that a number made of its address.
///
/// With one alone, a callout that takes a lock and lets go of another one, which it did not take, would seem to hold none.
static inline uint32_t hf_lock_key(const volatile void *lock) {
    uint32_t number = (uint32_t)((uintptr_t)lock >> 3) * 0x9e3779b1U;
    // Not linear, so that sums of neighbours differ.
    number ^= number >> 15;
    return (number << HF_LOCK_COUNT_BITS) + 1;
}

/// Counts a thing as held by the running thread that only its name is known of: who lets it go does not say whether it was held.
///
/// Where too many are held, the oldest stays counted, and the callout that runs is not resumed.
void hf_own(const void *thing) __attribute__((visibility("hidden")));

/// Counts such a thing as let go, and returns whether the running thread held it.
bool hf_disown(const void *thing) __attribute__((visibility("hidden")));

#endif
