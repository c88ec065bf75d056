#ifndef HOLDFAST_DISASSEMBLER_H
#define HOLDFAST_DISASSEMBLER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// An instruction in words.
typedef struct {
    uint64_t address;
    char text[200];
} hf_instruction;

/// Turns bytes of x86-64 into instructions, up to the first that is none.
///
/// Provided because libcapstone may be missing: it is looked for at run time, once. Writes at most `capacity` instructions and
/// returns how many, 0 when there is no library or the first bytes are no instruction. Not safe to call from a signal handler.
size_t hf_disassemble(const uint8_t *_Nonnull bytes, size_t size, uint64_t address,
                      hf_instruction *_Nonnull instructions, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
