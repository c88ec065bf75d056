// What lies at an address, and who sent a signal.

#ifndef HF_ASYNC_ADDRESS_H
#define HF_ASYNC_ADDRESS_H

#include "crash_record.h"

#include <stddef.h>
#include <stdint.h>

/// Finds the mapping that holds an address, or the nearest one.
///
/// An end of zero says that it could not be found: proc(5) is not mounted, no descriptor is free, or there are too many mappings. Safe to
/// call from a signal handler.
void hf_async_find_mapping(uint64_t address, HFMapping *nearest);

/// Copies the name of a process, as in /proc/PID/comm; "" if it cannot be had. Safe to call from a signal handler.
void hf_async_name_process(int32_t pid, char *name, size_t size);

#endif
