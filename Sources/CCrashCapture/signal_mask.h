#ifndef HF_SIGNAL_MASK_H
#define HF_SIGNAL_MASK_H

/// Lets the signals of faults through on the calling thread, whatever mask it was given.
void hf_unblock_fault_signals(void) __attribute__((visibility("hidden")));

#endif
