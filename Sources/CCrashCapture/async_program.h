// Whether a file may be executed in the place of the running program.

#ifndef HF_ASYNC_PROGRAM_H
#define HF_ASYNC_PROGRAM_H

#include <stdbool.h>

/// Whether a program can be read, is for this machine, and is complete as far as its headers tell. What is no ELF file is left to the
/// kernel's judgement, which refuses it or not. Safe to call from a signal handler.
bool hf_async_is_complete_program(const char *path);

#endif
