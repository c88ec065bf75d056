// The bounds of functions, by their symbols: of the program and of its libraries.

#ifndef HF_FUNCTION_BOUNDS_H
#define HF_FUNCTION_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

/// Whether the standard library is a library of its own, rather than a part of the program.
bool hf_capture_runtime_is_dynamic(void);

/// The two functions that lock an NSConditionLock.
#define HF_CONDITION_LOCK "$s10Foundation15NSConditionLockC4lock6beforeSb0A10Essentials4DateV_tF"
#define HF_CONDITION_LOCK_WHEN "$s10Foundation15NSConditionLockC4lock13whenCondition6beforeSbSi_0A10Essentials4DateVtF"

/// The bounds of a function of the standard libraries: of one that a library exports, or where they are static, of one that the program has itself.
///
/// The latter only for those that run jobs and that lock an NSConditionLock. Returns 0, or -1 if there is none. For ordinary code.
int hf_linked_function_bounds(const char *_Nonnull name, uint64_t *_Nonnull start, uint64_t *_Nonnull end);

/// The bounds of an exported function, by name, and the kind of its image.
///
/// Returns 0, or -1 if there is no such function. Not safe to call from a signal handler.
int hf_function_bounds(const char *_Nonnull name, uint64_t *_Nonnull start, uint64_t *_Nonnull end);

#endif
