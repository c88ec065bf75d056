#ifndef HF_FRAME_PROBE_H
#define HF_FRAME_PROBE_H

// Frames that Swift does not make.

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*HFFrameBody)(void *context);

/// Stops in a debugger: a breakpoint instruction, which nobody but a debugger must see, with the number of a thread in `%rdi`.
void hf_frame_stop(long thread);

/// Calls the body from three functions without frame pointers, the middle one with garbage in `%rbp`.
void hf_frame_without_frame_pointers(HFFrameBody body, void *context);

/// Calls the body from C functions, one of them inlined into the next.
void hf_frame_through_c(HFFrameBody body, void *context);

/// Calls the body from methods, templates, lambdas and virtual functions of C++.
void hf_frame_through_cxx(HFFrameBody body, void *context);

/// Calls the body from the comparison of a sort of the C++ library, which is inlined in optimized builds.
void hf_frame_through_cxx_sort(HFFrameBody body, void *context);

/// Calls the body from the comparison of the C library's `qsort`, which has no frame pointers.
void hf_frame_through_qsort(HFFrameBody body, void *context);

/// Calls the body from a signal handler.
void hf_frame_through_signal(HFFrameBody body, void *context);

/// Calls a function that never returns as its last instruction: the return address is that of the next function.
void hf_frame_last_call(HFFrameBody body, void *context) __attribute__((noreturn));

/// Calls the body on a thread of its own with a stack of so many bytes, and waits for it.
void hf_frame_on_thread(long stack_bytes, HFFrameBody body, void *context);

#ifdef __cplusplus
}
#endif

#endif
