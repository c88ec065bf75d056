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

/// Copies the name that the running callout put on record as number `place`, the newest being 0, as a fault handler finds it.
///
/// Returns its length, or -1 if there is none, or no callout.
int hf_test_copy_note(int place, char *_Nonnull buffer, int size);

/// Makes a guarded call with `value` in the registers that a callee preserves, and another one inside it, and returns whether they have
/// the value afterwards.
bool hf_test_registers_after_calls(uint64_t value);

/// Makes a guarded call that is abandoned, and returns whether those registers have the value afterwards.
bool hf_test_registers_after_abandoned_call(uint64_t value);

/// Returns MXCSR, and above it the x87 control word.
uint64_t hf_test_control_words(void);

/// Changes rounding in both, and leaves a value on the x87 stack.
void hf_test_change_control_words(void);

/// Rounds upward and unmasks divisions by zero from now on, in both, by the C library.
void hf_test_change_environment(void);

/// Changes bits of MXCSR alone, as _MM_SET_FLUSH_ZERO_MODE() does.
void hf_test_toggle_mxcsr(uint32_t bits);

/// Changes bits of the x87 control word alone.
void hf_test_toggle_x87(uint16_t bits);

/// Whether the recovery point reads this thread's list of exclusivity accesses without calling the Swift runtime.
bool hf_test_reads_access_list(void);

/// Whether the innermost run of this thread began inside a Swift task, as far as a fault handler knows.
bool hf_test_run_is_in_task(void);

#ifdef __cplusplus
}
#endif

#endif
