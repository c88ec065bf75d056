// Where the registers of a context are, and where a record has them.

#ifndef HF_ASYNC_REGISTERS_H
#define HF_ASYNC_REGISTERS_H

#include <stdint.h>
#include <ucontext.h>

#include "crash_record.h"

/// The registers before this one may hold pointers.
enum { HF_GENERAL_REGISTER_COUNT = REG_RIP, HF_STACK_POINTER_NUMBER = REG_RSP };

static inline uint64_t hf_context_stack_pointer(const ucontext_t *context) {
    return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
}

static inline uint64_t hf_context_frame_pointer(const ucontext_t *context) {
    return (uint64_t)context->uc_mcontext.gregs[REG_RBP];
}

/// A general register, the stack pointer or the program counter of a record, by its place in the list of its architecture.
static inline uint64_t hf_record_register(const HFRecord *record, uint32_t number) {
    return record->registers[number];
}

static inline uint64_t hf_record_program_counter(const HFRecord *record) { return record->registers[REG_RIP]; }

static inline void hf_copy_registers(HFRecord *record, const ucontext_t *context) {
    for (int i = 0; i < HF_REGISTER_COUNT; i += 1) {
        record->registers[i] = (uint64_t)context->uc_mcontext.gregs[i];
    }
}

#endif
