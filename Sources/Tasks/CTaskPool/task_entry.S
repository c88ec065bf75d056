// The body of a job of a scope: from the recovery point straight into the runtime, without a frame of ours.
//
// The walk from a fault to its recovery point must meet nothing but the application and the runtime's runners. A C function in between
// would count as C of the program.

#if defined(__x86_64__)
    .text
    .globl  hf_task_enter
    .hidden hf_task_enter
    .type   hf_task_enter, @function

// void hf_task_enter(const HFTaskEntry *entry): a job, and the two words of its task executor.
    .p2align 4
hf_task_enter:
    .cfi_startproc
    movq    16(%rdi), %rdx
    movq    8(%rdi), %rsi
    movq    (%rdi), %rdi
    jmp     swift_job_run_on_task_executor@PLT
    .cfi_endproc
    .size   hf_task_enter, . - hf_task_enter
#endif

    .section .note.GNU-stack, "", @progbits
