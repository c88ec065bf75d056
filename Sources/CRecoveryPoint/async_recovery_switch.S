// The switch to a callout stack and back (System V AMD64 ABI, x86-64).
//
// CFI describes every frame by %rbp, so that unwinders and debuggers walk from the callout stack to the caller's.

#if defined(__x86_64__)
    .text
    .globl  hf_recovery_switch
    .globl  hf_recovery_landing
    .globl  hf_recovery_switch_end
    .type   hf_recovery_switch, @function

// int32_t hf_recovery_switch(HFRecoveryPoint *point, HFBody body, void *argument, uintptr_t stack_top)
    .p2align 4
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
    subq    $8, %rsp
    .cfi_offset %rbx, -24
    .cfi_offset %r12, -32
    .cfi_offset %r13, -40
    .cfi_offset %r14, -48
    .cfi_offset %r15, -56
    stmxcsr (%rsp)
    fnstcw  4(%rsp)
    movq    %rsp, 0(%rdi)           // point->stack_pointer
    movq    %rbp, 8(%rdi)           // point->frame_pointer
    movq    %rsi, %rax
    movq    %rdx, %rdi
    movq    %rcx, %rsp
    call    *%rax
    xorl    %eax, %eax              // HFOutcomeReturned
    leaq    -48(%rbp), %rsp
    jmp     1f

// Entered by a fault handler's sigreturn with %rsp and %rbp of the point; every other register is garbage.
hf_recovery_landing:
    cld
    ldmxcsr (%rsp)
    fninit
    fldcw   4(%rsp)
    movl    $1, %eax                // HFOutcomeAbandoned
1:
    addq    $8, %rsp
    popq    %r15
    popq    %r14
    popq    %r13
    popq    %r12
    popq    %rbx
    popq    %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
hf_recovery_switch_end:
    .size   hf_recovery_switch, . - hf_recovery_switch
#endif

    .section .note.GNU-stack, "", @progbits
