// Functions without frame pointers: only their unwind tables tell where the caller's frame is (System V AMD64 ABI, x86-64).

#if defined(__x86_64__)

    .text
    .globl  hf_frame_without_frame_pointers
    .type   hf_frame_without_frame_pointers, @function
    .p2align 4
hf_frame_without_frame_pointers:
    .cfi_startproc
    subq    $72, %rsp
    .cfi_def_cfa_offset 80
    call    hf_frame_garbage_in_frame_pointer
    addq    $72, %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size   hf_frame_without_frame_pointers, . - hf_frame_without_frame_pointers

    .type   hf_frame_garbage_in_frame_pointer, @function
    .p2align 4
hf_frame_garbage_in_frame_pointer:
    .cfi_startproc
    pushq   %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    pushq   %rbx
    .cfi_def_cfa_offset 24
    .cfi_offset %rbx, -24
    subq    $40, %rsp
    .cfi_def_cfa_offset 64
    movabsq $0x5157a7c4ed5157a7, %rbp
    movq    %rbp, %rbx
    call    hf_frame_saves_garbage
    addq    $40, %rsp
    .cfi_def_cfa_offset 24
    popq    %rbx
    .cfi_def_cfa_offset 16
    .cfi_restore %rbx
    popq    %rbp
    .cfi_def_cfa_offset 8
    .cfi_restore %rbp
    ret
    .cfi_endproc
    .size   hf_frame_garbage_in_frame_pointer, . - hf_frame_garbage_in_frame_pointer

    .type   hf_frame_saves_garbage, @function
    .p2align 4
hf_frame_saves_garbage:
    .cfi_startproc
    pushq   %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    xorl    %ebp, %ebp
    movq    %rdi, %rax
    movq    %rsi, %rdi
    call    *%rax
    popq    %rbp
    .cfi_def_cfa_offset 8
    .cfi_restore %rbp
    ret
    .cfi_endproc
    .size   hf_frame_saves_garbage, . - hf_frame_saves_garbage

#endif

    .section .note.GNU-stack, "", @progbits
