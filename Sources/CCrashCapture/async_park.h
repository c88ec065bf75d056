#ifndef HF_ASYNC_PARK_H
#define HF_ASYNC_PARK_H

#include "crash_record.h"

/// Parks the thread until there is a verdict on its fault, and returns that.
///
/// Within the deadline, or within two where the deciding thread waits for no lock, it is the deciding thread's; else the one for that case.
/// Safe to call from a signal handler.
uint32_t hf_async_park(HFRecord *record);

#endif
