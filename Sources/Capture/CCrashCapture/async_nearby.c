// The stack and the memory near a fault: code always, data only as far as the process asked for it.

#include "async_registers.h"
#include "async_state.h"
#include "thread_sampling.h"

#include <ucontext.h>

// It skips functions that keep no frame pointer, so no verdict may rely on it. For a report it is better than nothing.
/// Whether an address lies in a program or a library.
static bool is_in_image(uint64_t address, HFImageList list) {
    for (uint32_t i = 0; i < list.count && i < HF_MAXIMUM_IMAGES; i += 1) {
        if (address >= list.images[i].base && address < list.images[i].end) {
            return true;
        }
    }
    return false;
}

/// Whether a frame pointer points to another one, further out, and to a return address.
static bool is_frame(uint64_t frame, HFImageList list) {
    uint64_t words[2] = {0, 0};
    return frame % sizeof *words == 0 && hf_async_read_memory(frame, words, sizeof words) == sizeof words &&
           (words[0] == 0 || words[0] > frame) && is_in_image(words[1], list);
}

/// The innermost frame that has a frame pointer. The C library's functions use the register for something else.
static uint64_t first_frame(const ucontext_t *registers, HFImageList list) {
    uint64_t frame = (uint64_t)registers->uc_mcontext.gregs[REG_RBP];
    uint64_t stack = (uint64_t)registers->uc_mcontext.gregs[REG_RSP];
    uint64_t words[128];
    if (is_frame(frame, list) || stack % sizeof *words != 0) {
        return frame;
    }
    size_t count = hf_async_read_memory(stack, words, sizeof words) / sizeof *words;
    for (size_t i = 0; i + 1 < count; i += 1) {
        uint64_t place = stack + i * sizeof *words;
        if (words[i] > place && words[i] - place < 1 << 20 && is_frame(place, list) &&
            is_frame(words[i], list)) {
            return place;
        }
    }
    return frame;
}

void hf_async_walk_frame_pointers(HFRecord *record, const void *context, HFImageList list) {
    const ucontext_t *registers = context;
    record->frames[0] = (uint64_t)registers->uc_mcontext.gregs[REG_RIP];
    uint32_t count = 1;
    uint64_t frame = first_frame(registers, list);
    while (count < HF_MAXIMUM_HEAD_FRAMES && frame % sizeof(uint64_t) == 0) {
        // System V AMD64 ABI, figure 3.3: the caller's frame pointer, then the return address.
        uint64_t words[2] = {0, 0};
        if (hf_async_read_memory(frame, words, sizeof words) != sizeof words || words[1] == 0) {
            break;
        }
        record->frames[count] = words[1];
        count += 1;
        // Upwards only: a loop in the chain would have no end.
        if (words[0] <= frame) {
            break;
        }
        frame = words[0];
    }
    record->frame_count = count;
    record->head_frame_count = count;
}

void hf_async_capture_code(HFRecord *record) {
    uint64_t place = hf_record_program_counter(record);
    // The bytes before may lie on another page, which may not be there.
    for (uint64_t count = sizeof record->code_before; count > 0 && record->code_length > 0; count /= 2) {
        uint8_t *bytes = record->code_before + sizeof record->code_before - count;
        if (place > count && hf_async_read_memory(place - count, bytes, count) == count) {
            record->code_before_length = (uint32_t)count;
            return;
        }
    }
}

/// Whether an address lies in what was already copied.
static bool is_covered(const HFMemoryArea *area, uint64_t address) {
    for (uint32_t i = 0; i < area->piece_count; i += 1) {
        const HFMemoryPiece *piece = &area->pieces[i];
        if (address >= piece->address && address - piece->address + sizeof(uint64_t) <= piece->length) {
            return true;
        }
    }
    return false;
}

static void add_piece(HFMemoryArea *area, uint64_t address, uint32_t size, uint32_t about) {
    const HFMemoryPiece *last = area->piece_count > 0 ? &area->pieces[area->piece_count - 1] : NULL;
    uint32_t offset = last != NULL ? last->offset + last->length : 0;
    if (area->piece_count == HF_MEMORY_PIECES || size > HF_MEMORY_SIZE - offset) {
        return;
    }
    uint32_t length = (uint32_t)hf_async_read_memory(address, area->bytes + offset, size);
    if (length > 0) {
        area->pieces[area->piece_count] =
            (HFMemoryPiece){.address = address, .offset = offset, .length = length, .about = about};
        area->piece_count += 1;
    }
}

/// Adds the memory around an address: all of it, or as much as its page has.
static void add_near(HFMemoryArea *area, uint64_t address, uint32_t about) {
    const uint64_t half = HF_MEMORY_NEAR_SIZE / 2;
    uint64_t first = (address & ~7ULL) - half;
    uint64_t page = address & ~4095ULL;
    uint32_t before = area->piece_count;
    if (address < 4096 || is_covered(area, address)) {
        return;
    }
    add_piece(area, first, HF_MEMORY_NEAR_SIZE, about);
    if (area->piece_count == before && first < page) {
        add_piece(area, page, HF_MEMORY_NEAR_SIZE, about);
    }
}

void hf_async_capture_memory(const HFRecord *record, HFMemoryArea *area) {
    area->piece_count = 0;
    add_piece(area, hf_record_register(record, HF_STACK_POINTER_NUMBER), HF_MEMORY_STACK_SIZE, HF_MEMORY_ABOUT_STACK);
    for (uint32_t i = 0; i < HF_GENERAL_REGISTER_COUNT; i += 1) {
        if (i != HF_STACK_POINTER_NUMBER) {
            add_near(area, hf_record_register(record, i), i);
        }
    }
}
