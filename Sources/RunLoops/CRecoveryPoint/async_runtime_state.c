// What the runtimes keep for a thread, as a handler sees it. Safe to call from a signal handler: a few loads.

#include "runtime_state.h"

#include <stddef.h>

_Thread_local HFRuntimePlaces hf_runtime_places;
_Thread_local HFRuntimeState hf_runtime_state;

bool hf_async_can_restore_runtime_state(void) {
    const HFRuntimePlaces *places = &hf_runtime_places;
    if (!places->are_known || places->hides_task_locals) {
        return false;
    }
    // A storage is freed with its last value: one that was there would be there still, if all that was bound was unbound once.
    if (hf_runtime_state.task_locals != 0 && *places->task_locals != hf_runtime_state.task_locals) {
        return false;
    }
    // An exception that a catch clause around the run has counts its clauses itself: those of the callout would remain.
    return hf_runtime_state.caught_exceptions == 0;
}
