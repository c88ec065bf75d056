#ifndef HF_P_crash_capture
#define HF_P_crash_capture
#endif
