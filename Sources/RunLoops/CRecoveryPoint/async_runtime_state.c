// What the runtimes keep for a thread, for handlers. Safe to call from a signal handler: a few loads.

#include "runtime_state.h"

#include <stddef.h>

_Thread_local HFRuntimePlaces hf_runtime_places;
_Thread_local HFRuntimeState hf_runtime_state;

bool hf_async_can_restore_runtime_state(void) {
    const HFRuntimePlaces *places = &hf_runtime_places;
    if (!places->are_known || places->hides_task_locals) {
        return false;
    }
    // The storage from the beginning must still be there. It is freed with its last value, so if all values were unbound once, it is
    // another one.
    if (hf_runtime_state.task_locals != 0 && *places->task_locals != hf_runtime_state.task_locals) {
        return false;
    }
    // If the run is inside a catch clause, its exception counts the clauses itself: those of the callout would stay counted.
    return hf_runtime_state.caught_exceptions == 0;
}
