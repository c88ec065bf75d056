#include "recovery_test_support.h"

#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>

#include "recovery_point.h"

_Noreturn void hf_test_abandon_callout(void) {
    HFRecoveryPoint *point = hf_current_recovery_point;
    if (point == NULL || point->critical_depth != hf_critical_depth) {
        abort();
    }
    point->stack->abandoned_at = (uintptr_t)__builtin_frame_address(0) - 256;
    __asm__ volatile(
        "movq %0, %%rax\n\t"
        "movq %1, %%rbp\n\t"
        "movq %%rax, %%rsp\n\t"
        "jmp hf_recovery_landing"
        :
        : "r"(hf_recovery_stack_pointer(point)), "r"(hf_recovery_frame_pointer(point))
        : "rax", "memory");
    __builtin_unreachable();
}

uintptr_t hf_test_current_callout_stack(void) {
    HFRecoveryPoint *point = hf_current_recovery_point;
    return point == NULL ? 0 : point->stack->low;
}

int hf_test_copy_note(int place, char *buffer, int size) {
    const HFRecoveryPoint *point = hf_current_recovery_point;
    const HFCalloutNote *note = point == NULL ? NULL : point->notes;
    for (; note != NULL && place > 0; place -= 1) {
        note = note->next;
    }
    return note == NULL ? -1 : snprintf(buffer, (size_t)size, "%s", note->text);
}

uint64_t hf_test_control_words(void) {
    uint32_t mxcsr;
    uint16_t control_word;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(control_word));
    return (uint64_t)control_word << 32 | mxcsr;
}

void hf_test_change_control_words(void) {
    uint32_t mxcsr = (uint32_t)hf_test_control_words() ^ 0x6000;
    uint16_t control_word = (uint16_t)(hf_test_control_words() >> 32 ^ 0xC00);
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
    __asm__ volatile("fldcw %0" : : "m"(control_word));
    __asm__ volatile("fld1");
}

void hf_test_change_environment(void) {
    fesetround(FE_UPWARD);
    feenableexcept(FE_DIVBYZERO);
}

void hf_test_toggle_mxcsr(uint32_t bits) {
    uint32_t mxcsr = (uint32_t)hf_test_control_words() ^ bits;
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
}

void hf_test_toggle_x87(uint16_t bits) {
    uint16_t control_word = (uint16_t)(hf_test_control_words() >> 32 ^ bits);
    __asm__ volatile("fldcw %0" : : "m"(control_word));
}

// As in runtime_state.h, which is the recovery point's own.
extern _Thread_local uintptr_t *hf_access_list __attribute__((tls_model("initial-exec"), visibility("hidden")));

bool hf_test_reads_access_list(void) { return hf_access_list != NULL; }

bool hf_test_run_is_in_task(void) { return hf_run_is_in_task; }
