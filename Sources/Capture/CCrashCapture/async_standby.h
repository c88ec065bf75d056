// Another process that waits to serve in the place of this one (holdfast run --standby).

#ifndef HF_ASYNC_STANDBY_H
#define HF_ASYNC_STANDBY_H

#include <stdbool.h>

#include "crash_record.h"

/// Tells the process that stands by, if there is one, to serve from now on, and hands over to it what this one keeps. Returns whether it
/// was told: then this process has to end.
bool hf_async_release_standby(void);

/// The same as soon as it is decided, and without waiting for an answer: not if it keeps something, and goes on working with it.
bool hf_async_release_standby_early(const HFRecord *record);

#endif
