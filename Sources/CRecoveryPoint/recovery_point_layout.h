// Where recovery_switch.S finds the members of the structures: recovery_point.c asserts that they are there.

#ifndef HF_RECOVERY_POINT_LAYOUT_H
#define HF_RECOVERY_POINT_LAYOUT_H

#define HF_POINT_STACK_POINTER 0
#define HF_POINT_FRAME_POINTER 8
#define HF_POINT_STACK 16
#define HF_POINT_INFO 24
#define HF_POINT_PREVIOUS 32
#define HF_POINT_CRITICAL_DEPTH 40
#define HF_POINT_HELD_LOCKS 44
#define HF_POINT_NOTES 48
#define HF_POINT_EXCLUSIVITY 56
#define HF_POINT_SIZE 72

// MXCSR and the x87 control word follow the point. With them, the frame is aligned to 16 bytes at a call.
#define HF_POINT_CONTROL_WORDS 72
#define HF_POINT_ROOM 88

#define HF_STACK_HIGH 8

#endif
