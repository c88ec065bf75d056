// Whether a debugger holds the process.

#ifndef HF_ASYNC_TRACER_H
#define HF_ASYNC_TRACER_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Whether the calling thread or the process's first is traced (ptrace(2)): a debugger stops it for as long as it likes.
///
/// False where proc(5) is not mounted. Safe to call from a signal handler.
bool hf_async_is_traced(void);

#ifdef __cplusplus
}
#endif

#endif
