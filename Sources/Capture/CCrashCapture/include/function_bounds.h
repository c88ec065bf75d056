// The bounds of functions, by their symbols: of the program and of its libraries.

#ifndef HF_FUNCTION_BOUNDS_H
#define HF_FUNCTION_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

/// Whether the standard library is a library of its own, rather than a part of the program.
bool hf_capture_runtime_is_dynamic(void);

/// The bounds of a function of the program, by its symbol, whether it is exported or not.
///
/// Reads the program's file. Returns 0, or -1 if it has no such function, or no symbols. Not safe to call from a signal handler.
int hf_own_function_bounds(const char *_Nonnull name, uint64_t *_Nonnull start, uint64_t *_Nonnull end);

/// The bounds of a function that a library exports; where the standard library is static, of one that the program has itself. Not zero if there is
/// none. For ordinary code.
int hf_linked_function_bounds(const char *_Nonnull name, uint64_t *_Nonnull start, uint64_t *_Nonnull end);

/// The bounds of an exported function, by name, and the kind of its image.
///
/// Returns 0, or -1 if there is no such function. Not safe to call from a signal handler.
int hf_function_bounds(const char *_Nonnull name, uint64_t *_Nonnull start, uint64_t *_Nonnull end);

#endif
