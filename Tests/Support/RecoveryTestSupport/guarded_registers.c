// What guarded calls, one inside the other, leave in the registers that a callee preserves.

#include "recovery_test_support.h"

#include "recovery_point.h"

typedef struct Calls {
    HFCalloutStack *stack;
    HFCalloutStack *nested_stack;
} Calls;

_Static_assert(offsetof(Calls, nested_stack) == 8, "as below");

/// Makes the outer call with a value in these and %r15, and returns which bits of one are different after it.
__attribute__((visibility("hidden"))) uint64_t hf_test_call_with(uint64_t value, Calls *calls, HFBody body);
__attribute__((visibility("hidden"))) void hf_test_body(void *calls);

// In assembly as a whole: a compiled function would use the registers.
__asm__(
    "    .text\n"
    "    .globl hf_test_call_with\n"
    "    .hidden hf_test_call_with\n"
    "hf_test_call_with:\n"
    "    pushq %rbx\n"
    "    pushq %r12\n"
    "    pushq %r13\n"
    "    pushq %r14\n"
    "    pushq %r15\n"
    "    pushq %rdi\n"
    "    subq $8, %rsp\n"
    "    movq %rdi, %rbx\n"
    "    movq %rdi, %r12\n"
    "    movq %rdi, %r13\n"
    "    movq %rdi, %r14\n"
    "    movq %rdi, %r15\n"
    "    movq %rsi, %rcx\n"
    "    movq (%rsi), %rdi\n"
    "    xorl %esi, %esi\n"
    "    call hf_recovery_run@PLT\n"
    "    movq 8(%rsp), %rax\n"
    "    xorq %rax, %rbx\n"
    "    xorq %rax, %r12\n"
    "    xorq %rax, %r13\n"
    "    xorq %rax, %r14\n"
    "    xorq %r15, %rax\n"
    "    orq %rbx, %rax\n"
    "    orq %r12, %rax\n"
    "    orq %r13, %rax\n"
    "    orq %r14, %rax\n"
    "    addq $16, %rsp\n"
    "    popq %r15\n"
    "    popq %r14\n"
    "    popq %r13\n"
    "    popq %r12\n"
    "    popq %rbx\n"
    "    ret\n"
    "    .globl hf_test_body\n"
    "    .hidden hf_test_body\n"
    "hf_test_body:\n"
    "    subq $8, %rsp\n"
    "    movq %rdi, %rcx\n"
    "    movq 8(%rdi), %rdi\n"
    "    xorl %esi, %esi\n"
    "    leaq hf_test_nested_body(%rip), %rdx\n"
    "    call hf_recovery_run@PLT\n"
    "    addq $8, %rsp\n"
    "    ret\n"
    "hf_test_nested_body:\n"
    "    ret\n");

bool hf_test_registers_after_calls(uint64_t value) {
    Calls calls = {.stack = hf_callout_stack_create(64 * 1024), .nested_stack = hf_callout_stack_create(64 * 1024)};
    if (calls.stack == NULL || calls.nested_stack == NULL) {
        return false;
    }
    bool are_restored = hf_test_call_with(value, &calls, hf_test_body) == 0;
    hf_callout_stack_destroy(calls.stack);
    hf_callout_stack_destroy(calls.nested_stack);
    return are_restored;
}

static void abandoned_body(void *calls) {
    (void)calls;
    hf_test_abandon_callout();
}

bool hf_test_registers_after_abandoned_call(uint64_t value) {
    Calls calls = {.stack = hf_callout_stack_create(64 * 1024)};
    if (calls.stack == NULL) {
        return false;
    }
    bool are_restored = hf_test_call_with(value, &calls, abandoned_body) == 0;
    bool is_abandoned = calls.stack->abandoned;
    hf_callout_stack_bury(calls.stack);
    return are_restored && is_abandoned;
}
