// The parts of a guarded call that are not in recovery_switch.S: the thread's variables, and the end of an abandoned call.

#include "recovery_point.h"
#include "loop_events.h"
#include "recovery_point_layout.h"
#include "runtime_state.h"

#include <stdatomic.h>

_Thread_local bool hf_run_is_in_task;

// As the other variables of the thread, in recovery_switch.S.
extern _Thread_local HFControlWords hf_control_words
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

extern void *swift_task_getCurrent(void) __attribute__((weak));

_Static_assert(offsetof(HFRecoveryPoint, stack) == HF_POINT_STACK, "as in the layout");
_Static_assert(offsetof(HFRecoveryPoint, info) == HF_POINT_INFO, "as in the layout");
_Static_assert(offsetof(HFRecoveryPoint, previous) == HF_POINT_PREVIOUS, "as in the layout");
_Static_assert(offsetof(HFRecoveryPoint, critical_depth) == HF_POINT_CRITICAL_DEPTH, "as in the layout");
_Static_assert(offsetof(HFRecoveryPoint, held_locks) == HF_POINT_HELD_LOCKS, "as in the layout");
_Static_assert(offsetof(HFRecoveryPoint, exclusivity) == HF_POINT_EXCLUSIVITY, "as in the layout");
_Static_assert(HF_POINT_EXCLUSIVITY % 16 == 0, "both words with one aligned store");
_Static_assert(offsetof(HFRecoveryPoint, notes) == HF_POINT_NOTES, "as in the layout");
_Static_assert(offsetof(HFRecoveryPoint, control_words) == HF_POINT_CONTROL_WORDS, "as in the layout");
_Static_assert(offsetof(HFRecoveryPoint, x87) == HF_POINT_X87, "as in the layout");
_Static_assert(offsetof(HFRecoveryPoint, flags) == HF_POINT_FLAGS, "as in the layout");
_Static_assert(sizeof(HFRecoveryPoint) == HF_POINT_SIZE, "as in the layout");
_Static_assert(HF_POINT_FRAME == HF_RECOVERY_FRAME_SIZE, "as in the header");
_Static_assert(HF_POINT_FRAME >= HF_POINT_SIZE + 5 * 8 && HF_POINT_FRAME % 16 == 0, "room, and aligned");
_Static_assert(sizeof(HFControlWords) == 8, "both with one load");
_Static_assert(offsetof(HFCalloutStack, high) == HF_STACK_HIGH, "as in the layout");

bool hf_recovery_tracks_exclusivity(void) {
    return swift_task_enterThreadLocalContext != NULL && swift_task_exitThreadLocalContext != NULL;
}

HFControlWords hf_recovery_note_control_words(void) {
    HFControlWords before = hf_control_words;
    HFControlWords words = {0};
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(words.mxcsr), "=m"(words.x87));
    hf_control_words = words;
    return before;
}

void hf_recovery_restore_control_words(HFControlWords before) { hf_control_words = before; }

HFOuterRun hf_recovery_begin_run(void) {
    HFOuterRun outer = {
        .control_words = hf_recovery_note_control_words(),
        .runtime_state = hf_runtime_state_note(),
        .is_in_task = hf_run_is_in_task,
    };
    hf_run_is_in_task = swift_task_getCurrent != NULL && swift_task_getCurrent() != NULL;
    hf_loop_events_claim();
    return outer;
}

void hf_recovery_end_run(HFOuterRun outer) {
    hf_recovery_restore_control_words(outer.control_words);
    hf_runtime_state = outer.runtime_state;
    hf_run_is_in_task = outer.is_in_task;
}

// Intel's manual, volume 1, 8.1.5 and 10.2.3: the x87 word has the masks of exceptions in bits 0 to 5 and rounding in 10 and 11,
// MXCSR in bits 7 to 12 and in 13 and 14.
enum { x87_masks = 0x3f, x87_rounding = 0xc00, masks_shift = 7, rounding_shift = 3 };

/// Restores MXCSR from the words that were noted and the x87 word at the call.
///
/// Bits that have changed in the x87 word between the two have changed in MXCSR, too: the C library changes rounding and masks in both
/// (fesetround(3), fesetenv(3), feenableexcept(3)). If nothing was noted, the words are zeros, and all bits that are set count as changed.
static void restore_mxcsr(HFControlWords noted, uint32_t x87) {
    uint32_t changed = x87 ^ noted.x87;
    uint32_t rounding = (changed & x87_rounding) != 0 ? (uint32_t)x87_rounding << rounding_shift : 0;
    uint32_t bits = (changed & x87_masks) << masks_shift | rounding;
    uint32_t alike = (x87 & x87_masks) << masks_shift | (x87 & x87_rounding) << rounding_shift;
    uint32_t mxcsr = (noted.mxcsr & ~bits) | (alike & bits);
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
}

/// Called by the landing, on the stack of hf_recovery_run()'s caller.
void hf_recovery_abandoned(HFRecoveryPoint *point) __attribute__((visibility("hidden")));

void hf_recovery_abandoned(HFRecoveryPoint *point) {
    restore_mxcsr(point->control_words, point->x87);
    // Calls inside may have noted others, and were not able to restore these.
    hf_control_words = point->control_words;
    hf_current_recovery_point = point->previous;
    // The list still runs through the abandoned frames, which are intact: cut it where the body began.
    if (swift_task_exitThreadLocalContext != NULL) {
        swift_task_exitThreadLocalContext((char *)point->exclusivity);
    }
    hf_runtime_state_restore();
    hf_critical_depth = point->critical_depth;
    hf_held_locks = point->held_locks;
    point->stack->abandoned = true;
}
