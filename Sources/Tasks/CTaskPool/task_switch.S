// The switch between executors, for a job that stays where it is.
//
// Each call of an async function that is isolated to nothing asks the runtime to switch to the generic executor
// (swift/stdlib/public/Concurrency/Actor.cpp, swift_task_switch). A task that prefers an executor, as that of a boundary does, takes a lock
// and goes through a list for it, although nearly all of these calls find that they are there already: 25 in a request of Hummingbird's,
// 300 instructions each. So the functions here stand before those of the runtime, and answer that case with 12. As with the locks
// (lock_tracking.c) a symbol of the executable comes before that of a library. Weak: a static runtime is in the executable, too, and its
// own functions are taken then.
//
// hf_task_settled is the task whose job this thread runs, as long as it surely prefers the executor that runs it. Only the functions at the
// end can change within a job what a task prefers.

#if defined(__x86_64__)
.macro KEEP register
    pushq   \register
    .cfi_adjust_cfa_offset 8
.endm

.macro RESTORE register
    popq    \register
    .cfi_adjust_cfa_offset -8
.endm

    .text
    .weak   swift_task_switch
    .type   swift_task_switch, @function

// swifttailcc void swift_task_switch(AsyncContext *context, TaskContinuationFunction *resume, SerialExecutorRef executor): %r14, %rdi, and
// %rsi with %rdx. Without a switch it is a jump to `resume` with the same context.
    .p2align 4
swift_task_switch:
    .cfi_startproc
    // Another executor than the generic one.
    testq   %rsi, %rsi
    jne     2f
    movq    hf_task_settled@gottpoff(%rip), %rax
    movq    %fs:(%rax), %rcx
    testq   %rcx, %rcx
    je      4f
    // Another task, which runs within this job (Task.immediate).
    movq    hf_task_place(%rip), %rax
    cmpq    %rcx, %fs:(%rax)
    jne     2f
    // On an actor's executor: the switch leaves it.
    movq    hf_record_place(%rip), %rax
    movq    %fs:(%rax), %rax
    testq   %rax, %rax
    je      2f
    cmpq    $0, (%rax)
    jne     2f
    jmpq    *%rdi
2:
    movq    hf_next_task_switch(%rip), %rax
    testq   %rax, %rax
    je      3f
    jmpq    *%rax
3:
    // Before the pool was started.
    KEEP    %rdi
    KEEP    %rsi
    KEEP    %rdx
    call    hf_task_switch_find
    RESTORE %rdx
    RESTORE %rsi
    RESTORE %rdi
    jmp     2b
4:
    movq    hf_task_candidate@gottpoff(%rip), %rax
    cmpq    $0, %fs:(%rax)
    je      2b
    // Once in a job.
    KEEP    %rdi
    KEEP    %rdx
    subq    $8, %rsp
    .cfi_adjust_cfa_offset 8
    call    hf_task_settle
    addq    $8, %rsp
    .cfi_adjust_cfa_offset -8
    RESTORE %rdx
    RESTORE %rdi
    xorl    %esi, %esi
    jmp     swift_task_switch
    .cfi_endproc
    .size   swift_task_switch, . - swift_task_switch

// A function that changes what the task prefers, with all of its arguments as they are.
.macro UNSETTLE name, next
    .weak   "\name"
    .type   "\name", @function
    .p2align 4
"\name":
    .cfi_startproc
    movq    hf_task_settled@gottpoff(%rip), %r11
    movq    $0, %fs:(%r11)
    movq    hf_task_candidate@gottpoff(%rip), %r11
    movq    $0, %fs:(%r11)
    movq    \next(%rip), %r11
    testq   %r11, %r11
    je      1f
    jmpq    *%r11
1:
    KEEP    %rdi
    KEEP    %rsi
    KEEP    %rdx
    KEEP    %rcx
    KEEP    %r8
    KEEP    %r9
    KEEP    %rax
    call    hf_task_switch_find
    RESTORE %rax
    RESTORE %r9
    RESTORE %r8
    RESTORE %rcx
    RESTORE %rdx
    RESTORE %rsi
    RESTORE %rdi
    movq    \next(%rip), %r11
    jmpq    *%r11
    .cfi_endproc
    .size   "\name", . - "\name"
.endm

    UNSETTLE swift_task_pushTaskExecutorPreference, hf_next_push_preference
    // The two forms of withTaskExecutorPreference(_:operation:), which call the function above within the library.
    UNSETTLE $ss26withTaskExecutorPreference_9isolation9operationxSch_pSg_ScA_pSgYixyYaq_YKXEtYaq_YKs5ErrorR_r0_lF, hf_next_with_preference
    UNSETTLE $ss26withTaskExecutorPreference_9operationxSch_pSg_xyYaYbKXEtYaKs8SendableRzlF, hf_next_with_preference_throwing
#endif

    .section .note.GNU-stack, "", @progbits
