#ifndef HF_ASYNC_SLEEP_H
#define HF_ASYNC_SLEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "thread_sampling.h"

/// Sleeps while a word of this process has a value, until a time of hf_async_monotonic_nanoseconds(); false when that has come.
///
/// The time is absolute: interruptions do not move it (futex(2), FUTEX_WAIT_BITSET). Safe to call from a signal handler.
bool hf_async_sleep_while(const void *word, uint32_t value, uint64_t until);

/// Wakes all that sleep on a word. Safe to call from a signal handler.
void hf_async_wake(const void *word);

#endif
