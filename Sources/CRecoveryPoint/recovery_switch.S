// The guarded call: the switch to a callout stack and back (System V AMD64 ABI, x86-64).
//
// One frame on the caller's stack, below everything that may be abandoned; the recovery point is its lower end. CFI describes
// it by %rbp, so that unwinders and debuggers walk from the callout stack to the caller's. In assembly as a whole: a compiled
// function around the switch would save the same registers a second time.

#if defined(__x86_64__)
#include "recovery_point_layout.h"

    .text
    .globl  hf_recovery_run
    .globl  hf_recovery_switch
    .globl  hf_recovery_landing
    .globl  hf_recovery_switch_end
    .type   hf_recovery_run, @function

// HFOutcome hf_recovery_run(HFCalloutStack *stack, const HFCalloutInfo *info, HFBody body, void *argument)
    .p2align 4
hf_recovery_run:
hf_recovery_switch:
    .cfi_startproc
    pushq   %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq    %rsp, %rbp
    .cfi_def_cfa_register %rbp
    pushq   %rbx
    pushq   %r12
    pushq   %r13
    pushq   %r14
    pushq   %r15
    subq    $HF_POINT_ROOM, %rsp
    .cfi_offset %rbx, -24
    .cfi_offset %r12, -32
    .cfi_offset %r13, -40
    .cfi_offset %r14, -48
    .cfi_offset %r15, -56

    movq    hf_current_recovery_point@GOTTPOFF(%rip), %r14
    movq    hf_critical_depth@GOTTPOFF(%rip), %rax
    movq    hf_held_locks@GOTTPOFF(%rip), %r8
    movq    %fs:(%r14), %r15
    movl    %fs:(%rax), %eax
    movl    %fs:(%r8), %r8d
    movq    %rdi, %rbx
    movq    %rdx, %r12
    movq    %rcx, %r13
    xorl    %ecx, %ecx
    movq    %rsp, HF_POINT_STACK_POINTER(%rsp)
    movq    %rbp, HF_POINT_FRAME_POINTER(%rsp)
    movq    %rdi, HF_POINT_STACK(%rsp)
    movq    %rsi, HF_POINT_INFO(%rsp)
    movq    %r15, HF_POINT_PREVIOUS(%rsp)
    movl    %eax, HF_POINT_CRITICAL_DEPTH(%rsp)
    movl    %r8d, HF_POINT_HELD_LOCKS(%rsp)
    movq    %rcx, HF_POINT_NOTES(%rsp)
    movq    %rcx, HF_POINT_EXCLUSIVITY+8(%rsp)
    stmxcsr HF_POINT_CONTROL_WORDS(%rsp)
    fnstcw  HF_POINT_CONTROL_WORDS+4(%rsp)

    // Remembers the head of this thread's list of accesses; what the body adds comes in front of it.
    movq    hf_access_list@GOTTPOFF(%rip), %rax
    movq    %fs:(%rax), %rax
    testq   %rax, %rax
    je      3f
    movq    (%rax), %rax
    movq    %rax, HF_POINT_EXCLUSIVITY(%rsp)
1:
    movq    %rsp, %fs:(%r14)
    movq    %r13, %rdi
    movq    HF_STACK_HIGH(%rbx), %rsp
    call    *%r12

    // %r14 and %r15 are the callee's to preserve.
    movq    %r15, %fs:(%r14)
    xorl    %eax, %eax              // HFOutcomeReturned
2:
    leaq    -40(%rbp), %rsp
    popq    %r15
    popq    %r14
    popq    %r13
    popq    %r12
    popq    %rbx
    popq    %rbp
    .cfi_remember_state
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_restore_state

// This thread's first callout, or a runtime that we do not know: %rcx is still 0.
3:
    movq    %rcx, HF_POINT_EXCLUSIVITY(%rsp)
    leaq    HF_POINT_EXCLUSIVITY(%rsp), %rdi
    call    hf_access_list_note@PLT
    jmp     1b

// Entered by a fault handler's sigreturn with %rsp and %rbp of the point; every other register is garbage.
hf_recovery_landing:
    cld
    ldmxcsr HF_POINT_CONTROL_WORDS(%rsp)
    fninit
    fldcw   HF_POINT_CONTROL_WORDS+4(%rsp)
    movq    %rsp, %rdi
    call    hf_recovery_abandoned@PLT
    movl    $1, %eax                // HFOutcomeAbandoned
    jmp     2b
    .cfi_endproc
hf_recovery_switch_end:
    .size   hf_recovery_run, . - hf_recovery_run
#endif

    .section .note.GNU-stack, "", @progbits
