// A walk by frame pointers, on the thread itself: for faults that no other thread walks.
//
// It passes over functions that keep no frame pointer, so it is no ground for a verdict; for a report it is better than nothing.

#include "async_state.h"

#include <ucontext.h>

void hf_async_walk_frame_pointers(HFRecord *record, const void *context) {
    const ucontext_t *registers = context;
    record->frames[0] = (uint64_t)registers->uc_mcontext.gregs[REG_RIP];
    uint32_t count = 1;
    uint64_t frame = (uint64_t)registers->uc_mcontext.gregs[REG_RBP];
    while (count < HF_MAXIMUM_HEAD_FRAMES && frame % sizeof(uint64_t) == 0) {
        // System V AMD64 ABI, figure 3.3: the caller's frame pointer, then the return address.
        uint64_t words[2] = {0, 0};
        if (hf_async_read_memory(frame, words, sizeof words) != sizeof words || words[1] == 0) {
            break;
        }
        record->frames[count] = words[1];
        count += 1;
        // Upwards only, or a loop in the chain would have no end.
        if (words[0] <= frame) {
            break;
        }
        frame = words[0];
    }
    record->frame_count = count;
    record->head_frame_count = count;
}
