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
    subq    $HF_POINT_FRAME, %rsp
    movq    %rbx, -8(%rbp)
    movq    %r12, -16(%rbp)
    movq    %r13, -24(%rbp)
    movq    %r14, -32(%rbp)
    movq    %r15, -40(%rbp)
    .cfi_offset %rbx, -24
    .cfi_offset %r12, -32
    .cfi_offset %r13, -40
    .cfi_offset %r14, -48
    .cfi_offset %r15, -56

    fnstcw  HF_POINT_X87(%rsp)
    movq    hf_current_recovery_point@GOTTPOFF(%rip), %r9
    movq    %fs:(%r9), %r15
    // Each by itself, as they are written: one load of both would wait until the stores are in the cache.
    movl    %fs:HF_THREAD_CRITICAL_DEPTH(%r9), %eax
    movl    %fs:HF_THREAD_HELD_LOCKS(%r9), %r11d
    movq    %fs:HF_THREAD_CONTROL_WORDS(%r9), %r10
    movq    %fs:HF_THREAD_ACCESS_LIST(%r9), %r8
    movq    %rdi, HF_POINT_STACK(%rsp)
    movq    %rsi, HF_POINT_INFO(%rsp)
    movq    %r15, HF_POINT_PREVIOUS(%rsp)
    movl    %eax, HF_POINT_CRITICAL_DEPTH(%rsp)
    movl    %r11d, HF_POINT_HELD_LOCKS(%rsp)
    movq    %r10, HF_POINT_CONTROL_WORDS(%rsp)
    movq    $0, HF_POINT_NOTES(%rsp)
    movl    $0, HF_POINT_FLAGS(%rsp)

    // Remembers the head of this thread's list of accesses; what the body adds comes in front of it.
    testq   %r8, %r8
    je      2f
    movq    (%r8), %xmm0            // and zero above it
    movaps  %xmm0, HF_POINT_EXCLUSIVITY(%rsp)
1:
    movq    %rsp, %fs:(%r9)
    movq    HF_STACK_HIGH(%rdi), %rsp
    movq    %rcx, %rdi
    call    *%rdx

    movq    hf_current_recovery_point@GOTTPOFF(%rip), %rcx
    movq    %r15, %fs:(%rcx)
    movq    -40(%rbp), %r15
    xorl    %eax, %eax              // HFOutcomeReturned
    leave
    .cfi_remember_state
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_restore_state

// This thread's first callout, or a runtime that we do not know.
2:
    movq    %rdi, %rbx
    movq    %rdx, %r12
    movq    %rcx, %r13
    movq    %r9, %r14
    xorps   %xmm0, %xmm0
    movaps  %xmm0, HF_POINT_EXCLUSIVITY(%rsp)
    leaq    HF_POINT_EXCLUSIVITY(%rsp), %rdi
    call    hf_access_list_note@PLT
    movq    %rbx, %rdi
    movq    %r12, %rdx
    movq    %r13, %rcx
    movq    %r14, %r9
    movq    -8(%rbp), %rbx
    movq    -16(%rbp), %r12
    movq    -24(%rbp), %r13
    movq    -32(%rbp), %r14
    jmp     1b

// Entered by a fault handler's sigreturn with %rsp and %rbp of the point; every other register is garbage.
hf_recovery_landing:
    cld
    fninit
    fldcw   HF_POINT_X87(%rsp)
    movq    %rsp, %rdi
    call    hf_recovery_abandoned@PLT
    movq    -8(%rbp), %rbx
    movq    -16(%rbp), %r12
    movq    -24(%rbp), %r13
    movq    -32(%rbp), %r14
    movq    -40(%rbp), %r15
    movl    $1, %eax                // HFOutcomeAbandoned
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
hf_recovery_switch_end:
    .size   hf_recovery_run, . - hf_recovery_run

// The thread's variables that are read at every call, on one cache line and where the layout has them.
    .macro  thread_variable name, place, size
    .globl  \name
    .type   \name, @object
    .size   \name, \size
\name:
    .if     \name - hf_current_recovery_point != \place
    .error  "\name is elsewhere in the layout"
    .endif
    .zero   \size
    .endm

    .section .tbss, "awT", @nobits
    .p2align 6
    thread_variable hf_current_recovery_point, 0, 8
    thread_variable hf_critical_depth, HF_THREAD_CRITICAL_DEPTH, 4
    thread_variable hf_held_locks, HF_THREAD_HELD_LOCKS, 4
    thread_variable hf_control_words, HF_THREAD_CONTROL_WORDS, 8
    thread_variable hf_access_list, HF_THREAD_ACCESS_LIST, 8
    .hidden hf_control_words
    .hidden hf_access_list
#endif

    .section .note.GNU-stack, "", @progbits
