#ifndef HF_P_fault_injection
#define HF_P_fault_injection
#endif
