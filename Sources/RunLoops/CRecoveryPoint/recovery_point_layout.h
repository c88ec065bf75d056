// The offsets of the structures' members for recovery_switch.S, which recovery_point.c asserts, and of the thread's variables, which
// recovery_switch.S asserts itself.

#ifndef HF_RECOVERY_POINT_LAYOUT_H
#define HF_RECOVERY_POINT_LAYOUT_H

#define HF_POINT_STACK 0
#define HF_POINT_INFO 8
#define HF_POINT_PREVIOUS 16
#define HF_POINT_CRITICAL_DEPTH 24
#define HF_POINT_HELD_LOCKS 28
#define HF_POINT_EXCLUSIVITY 32
#define HF_POINT_NOTES 48
#define HF_POINT_CONTROL_WORDS 56
#define HF_POINT_X87 64
#define HF_POINT_FLAGS 68

// The five registers that a callee preserves follow the point. With them, the frame is aligned to 16 bytes at a call.
#define HF_POINT_SIZE 72
#define HF_POINT_FRAME 112

#define HF_STACK_HIGH 8

// Relative to hf_current_recovery_point: variables that are read at every call lie side by side, so that they are found together.
#define HF_THREAD_CRITICAL_DEPTH 8
#define HF_THREAD_HELD_LOCKS 12
#define HF_THREAD_CONTROL_WORDS 16
#define HF_THREAD_ACCESS_LIST 24

#endif
