#include "recovery_test_support.h"

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
        : "r"(point->stack_pointer), "r"(point->frame_pointer)
        : "rax", "memory");
    __builtin_unreachable();
}

uintptr_t hf_test_current_callout_stack(void) {
    HFRecoveryPoint *point = hf_current_recovery_point;
    return point == NULL ? 0 : point->stack->low;
}

bool hf_test_run_is_in_task(void) { return hf_run_is_in_task; }
