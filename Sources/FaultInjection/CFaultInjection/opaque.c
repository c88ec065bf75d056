#include "fault_injection.h"

#include <stdatomic.h>

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
