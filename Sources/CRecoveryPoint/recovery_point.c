// What a guarded call needs that is not in recovery_switch.S: the thread's variables, and the end of an abandoned one.

#include "recovery_point.h"
#include "access_list.h"
#include "loop_events.h"
#include "recovery_point_layout.h"

#include <stdatomic.h>

_Thread_local HFRecoveryPoint *hf_current_recovery_point;
_Thread_local uint32_t hf_critical_depth;
_Thread_local uint32_t hf_held_locks;
_Thread_local bool hf_run_is_in_task;

extern void *swift_task_getCurrent(void) __attribute__((weak));

_Static_assert(offsetof(HFRecoveryPoint, stack_pointer) == HF_POINT_STACK_POINTER, "as in the layout");
_Static_assert(offsetof(HFRecoveryPoint, frame_pointer) == HF_POINT_FRAME_POINTER, "as in the layout");
_Static_assert(offsetof(HFRecoveryPoint, stack) == HF_POINT_STACK, "as in the layout");
_Static_assert(offsetof(HFRecoveryPoint, info) == HF_POINT_INFO, "as in the layout");
_Static_assert(offsetof(HFRecoveryPoint, previous) == HF_POINT_PREVIOUS, "as in the layout");
_Static_assert(offsetof(HFRecoveryPoint, critical_depth) == HF_POINT_CRITICAL_DEPTH, "as in the layout");
_Static_assert(offsetof(HFRecoveryPoint, held_locks) == HF_POINT_HELD_LOCKS, "as in the layout");
_Static_assert(offsetof(HFRecoveryPoint, notes) == HF_POINT_NOTES, "as in the layout");
_Static_assert(offsetof(HFRecoveryPoint, exclusivity) == HF_POINT_EXCLUSIVITY, "as in the layout");
_Static_assert(sizeof(HFRecoveryPoint) == HF_POINT_SIZE, "as in the layout");
_Static_assert(HF_POINT_CONTROL_WORDS >= HF_POINT_SIZE, "the control words come behind the point");
_Static_assert(HF_POINT_ROOM >= HF_POINT_CONTROL_WORDS + 8 && HF_POINT_ROOM % 16 == 8, "room for both, and aligned");
_Static_assert(offsetof(HFCalloutStack, high) == HF_STACK_HIGH, "as in the layout");

bool hf_recovery_tracks_exclusivity(void) {
    return swift_task_enterThreadLocalContext != NULL && swift_task_exitThreadLocalContext != NULL;
}

bool hf_recovery_begin_run(void) {
    bool outer = hf_run_is_in_task;
    hf_run_is_in_task = swift_task_getCurrent != NULL && swift_task_getCurrent() != NULL;
    hf_loop_events_claim();
    return outer;
}

void hf_recovery_end_run(bool outer) { hf_run_is_in_task = outer; }

/// Called by the landing, on the stack of hf_recovery_run()'s caller.
void hf_recovery_abandoned(HFRecoveryPoint *point) __attribute__((visibility("hidden")));

void hf_recovery_abandoned(HFRecoveryPoint *point) {
    hf_current_recovery_point = point->previous;
    // The list still runs through the abandoned frames, which are intact: cut it where the body began.
    if (swift_task_exitThreadLocalContext != NULL) {
        swift_task_exitThreadLocalContext((char *)point->exclusivity);
    }
    hf_critical_depth = point->critical_depth;
    hf_held_locks = point->held_locks;
    point->stack->abandoned = true;
}
