// What a supervisor, the process that serves and the one that stands by share: a page of memory, for who releases the one that waits.

#ifndef HF_STANDBY_PAGE_H
#define HF_STANDBY_PAGE_H

#include <stdbool.h>
#include <stdint.h>

/// The first word of the page.
#define HF_STANDBY_MAGIC 0x48465342u

/// The status of a process in whose place another one serves that stood by: EX_TEMPFAIL of sysexits.h.
#define HF_STANDBY_EXIT_STATUS 75

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
    /// One of the three, above the serial number of the process that waits: a process that hands over to one must not tell another.
    uint32_t state;
} HFStandbyPage;

enum { HF_STANDBY_STATE_BITS = 2 };

/// Such a word. Safe to call from a signal handler.
static inline uint32_t hf_standby_make(uint32_t serial, uint32_t state) { return serial << HF_STANDBY_STATE_BITS | state; }

/// The state and the serial number. Safe to call from a signal handler.
static inline uint32_t hf_standby_word(const HFStandbyPage *_Nonnull page) { return __atomic_load_n(&page->state, __ATOMIC_ACQUIRE); }

/// The state in such a word. Safe to call from a signal handler.
static inline uint32_t hf_standby_state(uint32_t word) { return word & ((1u << HF_STANDBY_STATE_BITS) - 1); }

/// By the supervisor.
static inline void hf_standby_set(HFStandbyPage *_Nonnull page, uint32_t serial, uint32_t state) {
    __atomic_store_n(&page->state, hf_standby_make(serial, state), __ATOMIC_RELEASE);
}

/// Whether a process waits, has this serial number, if that is not 0, and the caller is the one who tells it to serve. Safe to call from a
/// signal handler.
static inline bool hf_standby_claim(HFStandbyPage *_Nonnull page, uint32_t serial) {
    uint32_t word = __atomic_load_n(&page->state, __ATOMIC_RELAXED);
    uint32_t present = word >> HF_STANDBY_STATE_BITS;
    if (word != hf_standby_make(present, HF_STANDBY_READY) || (serial != 0 && serial != present)) {
        return false;
    }
    return __atomic_compare_exchange_n(
        &page->state, &word, hf_standby_make(present, HF_STANDBY_RELEASED), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/// By the supervisor: whether nobody has told the process that waits to serve, and nobody can any more.
static inline bool hf_standby_withdraw(HFStandbyPage *_Nonnull page) {
    uint32_t word = __atomic_load_n(&page->state, __ATOMIC_ACQUIRE);
    while (hf_standby_state(word) != HF_STANDBY_RELEASED) {
        uint32_t none = hf_standby_make(word >> HF_STANDBY_STATE_BITS, HF_STANDBY_NONE);
        if (__atomic_compare_exchange_n(&page->state, &word, none, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            return true;
        }
    }
    return false;
}

/// Takes the claim back from a process that is not there. Safe to call from a signal handler.
static inline void hf_standby_forgo(HFStandbyPage *_Nonnull page, uint32_t serial) {
    uint32_t expected = hf_standby_make(serial, HF_STANDBY_RELEASED);
    __atomic_compare_exchange_n(
        &page->state, &expected, hf_standby_make(serial, HF_STANDBY_NONE), false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

#endif
