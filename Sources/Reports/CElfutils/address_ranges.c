#include "address_ranges.h"

#include <stdlib.h>

static int order(uint64_t one, uint64_t other) { return one < other ? -1 : one > other; }

static int compare(const void *one, const void *other) {
    const HFAddressRange *first = one;
    const HFAddressRange *second = other;
    int result = order(first->start, second->start);
    if (result == 0) {
        result = order(second->end, first->end);
    }
    return result != 0 ? result : order(first->place, second->place);
}

void hf_address_ranges_sort(HFAddressRange *ranges, size_t count) {
    if (count == 0) {
        return;
    }
    qsort(ranges, count, sizeof *ranges, compare);
    uint64_t reach = 0;
    for (size_t index = 0; index < count; index++) {
        reach = ranges[index].end > reach ? ranges[index].end : reach;
        ranges[index].reach = reach;
    }
}
