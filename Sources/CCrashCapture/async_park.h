#ifndef HF_ASYNC_PARK_H
#define HF_ASYNC_PARK_H

#include "crash_record.h"

#include <stdbool.h>

/// Parks the thread until there is a verdict on its fault, and returns that.
///
/// Within the deadline, or within two where the deciding thread waits for no lock, it is the deciding thread's; else the one for that case.
/// Safe to call from a signal handler.
uint32_t hf_async_park(HFRecord *record);

/// Whether the thread ends the process as soon as it is let go; not one that waits for a drain. Safe to call from a signal handler.
bool hf_async_ends_process(const HFRecord *record, uint32_t verdict);

#endif
