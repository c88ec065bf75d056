// What the Swift runtime knows of the job that a thread runs, for fault handlers.

#include "job_places.h"
#include "job_state.h"

bool hf_async_job_state(const HFCalloutStack *stack, HFJobState *state) {
    if (!atomic_load_explicit(&hf_job_places.are_known, memory_order_acquire)) {
        return false;
    }
    uintptr_t thread = (uintptr_t)__builtin_thread_pointer();
    uintptr_t record = *(const volatile uintptr_t *)(thread + (uintptr_t)hf_job_places.record);
    state->task = *(const volatile uintptr_t *)(thread + (uintptr_t)hf_job_places.task);
    if (record < stack->low || record + 2 * sizeof(uintptr_t) > stack->high || record % sizeof(uintptr_t) != 0) {
        return false;
    }
    state->executor[0] = ((const volatile uintptr_t *)record)[0];
    state->executor[1] = ((const volatile uintptr_t *)record)[1];
    return true;
}

uintptr_t hf_async_current_task(void) {
    if (!atomic_load_explicit(&hf_job_places.are_known, memory_order_acquire)) {
        return 0;
    }
    return *(const volatile uintptr_t *)((uintptr_t)__builtin_thread_pointer() + (uintptr_t)hf_job_places.task);
}
