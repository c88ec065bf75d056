// Handing descriptors over: what the table names and what is still that file.

#include "async_state.h"
#include "async_syscalls.h"
#include "kept_table.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { slots_at_a_time = 256 };

static bool read_at(int table, void *buffer, long size, uint64_t offset) {
    return HF_SYSCALL4(SYS_pread64, table, buffer, size, offset) == size;
}

static bool is_ours(const HFKeptHeader *header) {
    static const char magic[sizeof header->magic] = "HFKEPT";
    for (unsigned i = 0; i < sizeof magic; i += 1) {
        if (header->magic[i] != magic[i]) {
            return false;
        }
    }
    return header->pid == hf_async_process();
}

static bool is_still(const HFKeptRecord *record) {
    struct stat status;
    return HF_SYSCALL2(SYS_fstat, record->descriptor, &status) == 0 && status.st_dev == record->device &&
           status.st_ino == record->inode && status.st_mode == record->mode;
}

/// Lets nobody change the table any more: of what other threads do until execve(2) ends them, nothing counts.
///
/// A seal is set with the lock that a write holds (mm/memfd.c, memfd_add_seals; mm/filemap.c, generic_file_write_iter): a write
/// is in the table as a whole by then, or fails with EPERM. So no thread is waited for, and it may stand wherever it is.
static void freeze(int table) {
    if (HF_SYSCALL3(SYS_fcntl, table, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == -EINVAL) {
        // Before Linux 5.1. This one looks for pages that a device may still write to, and takes longer.
        HF_SYSCALL3(SYS_fcntl, table, F_ADD_SEALS, F_SEAL_WRITE);
    }
}

void hf_async_keep_descriptors(int table, bool keep) {
    HFKeptHeader header;
    // Whoever closes descriptors in a loop may have closed the table, too.
    if (table < 0 || !read_at(table, &header, sizeof header, 0) || !is_ours(&header)) {
        return;
    }
    if (keep) {
        freeze(table);
        // What was written until then.
        if (!read_at(table, &header, sizeof header, 0)) {
            return;
        }
    }
    long flags = keep ? 0 : FD_CLOEXEC;
    HF_SYSCALL3(SYS_fcntl, table, F_SETFD, flags);
    uint32_t used = header.slots_used < HF_KEPT_SLOT_LIMIT ? header.slots_used : HF_KEPT_SLOT_LIMIT;
    uint64_t slots[slots_at_a_time];
    for (uint32_t first = 0; first < used; first += slots_at_a_time) {
        uint32_t count = used - first < slots_at_a_time ? used - first : slots_at_a_time;
        if (!read_at(table, slots, count * 8, HF_KEPT_SLOTS_OFFSET + (uint64_t)first * 8)) {
            return;
        }
        for (uint32_t i = 0; i < count; i += 1) {
            HFKeptRecord record;
            uint64_t offset = HF_KEPT_BLOCKS_OFFSET + (slots[i] - 1) * HF_KEPT_BLOCK_SIZE;
            if (slots[i] == 0 || !read_at(table, &record, sizeof record, offset) || !is_still(&record)) {
                continue;
            }
            // Children are given the standard three in any case.
            if (keep || record.descriptor > STDERR_FILENO) {
                HF_SYSCALL3(SYS_fcntl, record.descriptor, F_SETFD, flags);
            }
        }
    }
}
