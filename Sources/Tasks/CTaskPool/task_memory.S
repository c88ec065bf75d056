// Memory of a task, for an async function that takes a piece or gives its newest one back.
//
// Each call of an async function takes its frame from the task's memory, which is a stack (swift/stdlib/public/runtime/StackAllocator.h): 75
// times in a request of Hummingbird's. The runtime's functions look the task up by __tls_get_addr() and keep six registers: 81 and 45
// instructions. These here do the same to the same words with 22 and 15, 30 where the next slab begins, and leave whatever is not that simple
// to those of the runtime.
//
// They are used once hf_task_memory_try() has seen that both do the same. As in task_switch.S a symbol of the executable comes before that
// of a library, and a static runtime's own functions are taken.

#if defined(__x86_64__)
#include "task_memory.h"

    // By itself, so that a walk tells it from the application's code: it stands for the runtime's (hf_task_pool_is_memory_code()).
    .section hf_task_memory_code, "ax", @progbits

// Begins a function: the task is in %rax, its newest piece in %rcx. Without a task it goes to the label 1 of END.
.macro BEGIN name, place
    .type   \name, @function
    .p2align 4
\name:
    .cfi_startproc
    movq    \place(%rip), %rax
    testq   %rax, %rax
    je      1f
    movq    %fs:(%rax), %rax
    testq   %rax, %rax
    je      1f
    movq    HF_TASK_MEMORY_NEWEST(%rax), %rcx
.endm

// Ends it: at the label 1 with the runtime's function, which has the same argument.
.macro END name, next
1:
    movq    \next(%rip), %rax
    testq   %rax, %rax
    je      2f
    jmpq    *%rax
2:
    // Before the pool was started.
    pushq   %rdi
    .cfi_adjust_cfa_offset 8
    call    hf_task_memory_find
    popq    %rdi
    .cfi_adjust_cfa_offset -8
    jmp     1b
    .cfi_endproc
    .size   \name, . - \name
.endm

// void *swift_task_alloc(size_t size): %rdi; only registers that calls do not preserve are changed.
.macro ALLOC name, place
    BEGIN   \name, \place
    testq   %rcx, %rcx
    je      1f
    movq    HF_PIECE_SLAB(%rcx), %rdx
    leaq    HF_MEMORY_UNIT-1(%rdi), %rsi
    andq    $-HF_MEMORY_UNIT, %rsi
    movl    HF_SLAB_USED(%rdx), %r8d
    leaq    HF_PIECE_HEAD(%rsi,%r8), %r9
    movl    HF_SLAB_CAPACITY(%rdx), %r10d
    cmpq    %r10, %r9
    ja      4f
3:
    movl    %r9d, HF_SLAB_USED(%rdx)
    leaq    HF_SLAB_HEAD(%rdx,%r8), %r8
    movq    %rcx, (%r8)
    movq    %rdx, HF_PIECE_SLAB(%r8)
    movq    %r8, HF_TASK_MEMORY_NEWEST(%rax)
    leaq    HF_PIECE_HEAD(%r8), %rax
    retq
4:
    // The next slab, if there is one: it is empty.
    movq    HF_SLAB_NEXT(%rdx), %rdx
    testq   %rdx, %rdx
    je      1f
    movl    HF_SLAB_USED(%rdx), %r8d
    leaq    HF_PIECE_HEAD(%rsi,%r8), %r9
    movl    HF_SLAB_CAPACITY(%rdx), %r10d
    cmpq    %r10, %r9
    jbe     3b
    END     \name, hf_next_task_alloc
.endm

// void swift_task_dealloc(void *piece): %rdi.
.macro DEALLOC name, place
    BEGIN   \name, \place
    // Another piece than the newest is a mistake, which the runtime names.
    leaq    HF_PIECE_HEAD(%rcx), %rdx
    cmpq    %rdi, %rdx
    jne     1f
    movq    (%rcx), %rsi
    movq    HF_PIECE_SLAB(%rcx), %rdx
    subl    %edx, %ecx
    subl    $HF_SLAB_HEAD, %ecx
    movl    %ecx, HF_SLAB_USED(%rdx)
    movq    %rsi, HF_TASK_MEMORY_NEWEST(%rax)
    retq
    END     \name, hf_next_task_dealloc
.endm

    .weak   swift_task_alloc
    .weak   swift_task_dealloc
    ALLOC   swift_task_alloc, hf_task_memory_place
    DEALLOC swift_task_dealloc, hf_task_memory_place
    // The same for the trial.
    ALLOC   hf_tried_task_alloc, hf_tried_task_memory_place
    DEALLOC hf_tried_task_dealloc, hf_tried_task_memory_place
    .hidden hf_tried_task_alloc
    .hidden hf_tried_task_dealloc
    .globl  hf_tried_task_alloc
    .globl  hf_tried_task_dealloc
#endif

    .section .note.GNU-stack, "", @progbits
