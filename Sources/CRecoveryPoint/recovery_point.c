// The guarded call. The frames here are on the caller's stack, below everything that may be abandoned.

#include "recovery_point.h"

#include <stdatomic.h>

_Thread_local HFRecoveryPoint *hf_current_recovery_point;
_Thread_local uint32_t hf_critical_depth;
_Thread_local bool hf_run_is_in_task;

HFOutcome hf_recovery_switch_call(HFRecoveryPoint *point, HFBody body, void *argument, uintptr_t stack_top)
    __asm__("hf_recovery_switch");

// Exported by libswiftCore, but not public ABI (swift/stdlib/public/runtime/ConcurrencyExclusivity.inc): weak, so that a
// runtime without them is noticed by hf_recovery_tracks_exclusivity() and not by the linker.
extern void swift_task_enterThreadLocalContext(char *state) __attribute__((weak));
extern void swift_task_exitThreadLocalContext(char *state) __attribute__((weak));

extern void *swift_task_getCurrent(void) __attribute__((weak));

_Static_assert(offsetof(HFRecoveryPoint, stack_pointer) == 0, "async_recovery_switch.S stores it there");
_Static_assert(offsetof(HFRecoveryPoint, frame_pointer) == 8, "async_recovery_switch.S stores it there");

bool hf_recovery_tracks_exclusivity(void) {
    return swift_task_enterThreadLocalContext != NULL && swift_task_exitThreadLocalContext != NULL;
}

bool hf_recovery_begin_run(void) {
    bool outer = hf_run_is_in_task;
    hf_run_is_in_task = swift_task_getCurrent != NULL && swift_task_getCurrent() != NULL;
    return outer;
}

void hf_recovery_end_run(bool outer) { hf_run_is_in_task = outer; }

HFOutcome hf_recovery_run(HFCalloutStack *stack, const HFCalloutInfo *info, HFBody body, void *argument) {
    HFRecoveryPoint point = {
        .stack = stack,
        .info = info,
        .previous = hf_current_recovery_point,
        .critical_depth = hf_critical_depth,
    };
    // Remembers the head of this thread's list of accesses; what the body adds comes in front of it.
    if (swift_task_enterThreadLocalContext != NULL) {
        swift_task_enterThreadLocalContext((char *)point.exclusivity);
    }
    hf_current_recovery_point = &point;
    HFOutcome outcome = hf_recovery_switch_call(&point, body, argument, stack->high);
    hf_current_recovery_point = point.previous;
    if (outcome == HFOutcomeAbandoned) {
        // The list still runs through the abandoned frames, which are intact: cut it where the body began.
        if (swift_task_exitThreadLocalContext != NULL) {
            swift_task_exitThreadLocalContext((char *)point.exclusivity);
        }
        hf_critical_depth = point.critical_depth;
        stack->abandoned = true;
    }
    return outcome;
}
