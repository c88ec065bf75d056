// What a supervisor, the process that serves and the one that stands by share: a page of memory, for who releases the one that waits.

#ifndef HF_STANDBY_PAGE_H
#define HF_STANDBY_PAGE_H

#include <stdbool.h>
#include <stdint.h>

/// The first word of the page.
#define HF_STANDBY_MAGIC 0x48465342u

enum {
    /// Nobody waits.
    HF_STANDBY_NONE = 0,
    /// A process waits.
    HF_STANDBY_READY = 1,
    /// It was told to serve.
    HF_STANDBY_RELEASED = 2,
};

typedef struct HFStandbyPage {
    uint32_t magic;
    uint32_t state;
} HFStandbyPage;

/// Safe to call from a signal handler.
static inline uint32_t hf_standby_state(const HFStandbyPage *_Nonnull page) {
    return __atomic_load_n(&page->state, __ATOMIC_ACQUIRE);
}

static inline void hf_standby_set(HFStandbyPage *_Nonnull page, uint32_t state) {
    __atomic_store_n(&page->state, state, __ATOMIC_RELEASE);
}

/// Whether a process waits and the caller is the one who tells it to serve. Safe to call from a signal handler.
static inline bool hf_standby_claim(HFStandbyPage *_Nonnull page) {
    uint32_t expected = HF_STANDBY_READY;
    return __atomic_compare_exchange_n(
        &page->state, &expected, HF_STANDBY_RELEASED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

#endif
