// Ranges of addresses, in order.
//
// In C because a program has fifty thousand of them, and each process sorts its own when it starts: a debug build of Swift takes fifty times as
// long for each comparison.

#ifndef HF_ADDRESS_RANGES_H
#define HF_ADDRESS_RANGES_H

#include <stddef.h>
#include <stdint.h>

typedef struct HFAddressRange {
    uint64_t start;
    uint64_t end;
    /// The largest end of this range and all before it.
    uint64_t reach;
    /// Where its value is.
    size_t place;
} HFAddressRange;

/// Sorts ranges by start, the longer first, and those that are the same by place; then fills in `reach`. Not safe to call from a signal
/// handler: allocates.
void hf_address_ranges_sort(HFAddressRange *_Nullable ranges, size_t count);

#endif
