// What a fault handler does to abandon a callout, without the fault.

#ifndef HF_RECOVERY_TEST_SUPPORT_H
#define HF_RECOVERY_TEST_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Leaves the running callout the way a resumed fault does: nothing is unwound, nothing is released.
///
/// Aborts when no callout is running. Not safe to call from a signal handler.
_Noreturn void hf_test_abandon_callout(void);

/// Returns the lowest address of the callout stack that the running callout is on, or 0 outside of callouts.
uintptr_t hf_test_current_callout_stack(void);

/// Whether the innermost run of this thread began inside a Swift task, as far as a fault handler knows.
bool hf_test_run_is_in_task(void);

#ifdef __cplusplus
}
#endif

#endif
