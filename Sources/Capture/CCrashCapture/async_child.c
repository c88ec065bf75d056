// The record of a fault in a forked child: a spool file of its own, written in one go.
//
// The child has no crash thread, does not write to its parent's spool file, and is not restarted. The next reader of the store makes a
// report of the file.

#include "async_proc.h"
#include "async_state.h"
#include "async_syscalls.h"

#include <fcntl.h>
#include <time.h>

typedef struct Path {
    char text[HF_SPOOL_FOLDER_SIZE + 64];
} Path;

/// The path: `FOLDER/PID-TIME`, with a prefix and a suffix to the name.
static void write_path(Path *path, const HFForkMirror *mirror, const HFRecord *record, const char *before, const char *after) {
    char *text = path->text;
    const size_t size = sizeof path->text;
    size_t length = hf_async_append(text, size, 0, mirror->folder);
    length = hf_async_append(text, size, length, before);
    length = hf_async_append_number(text, size, length, (uint64_t)record->pid);
    length = hf_async_append(text, size, length, "-");
    length = hf_async_append_number(text, size, length, (uint64_t)record->time_unix_nanoseconds);
    hf_async_append(text, size, length, after);
}

/// Describes a file with the images and one slot.
static void lay_out(HFSpoolHeader *header, const HFRecord *record) {
    header->image_offset = (sizeof *header + 63) & ~63u;
    header->image_size = sizeof(HFImage);
    header->image_capacity = header->image_count;
    header->slot_offset = (header->image_offset + header->image_count * (uint32_t)sizeof(HFImage) + 63) & ~63u;
    header->slot_size = sizeof(HFRecord);
    header->slot_count = 1;
    header->faults_lost = 0;
    header->attempts = 0;
    header->snapshot_count = 0;
    header->memory_count = 0;
    header->context_offset = (header->slot_offset + (uint32_t)sizeof(HFRecord) + 63) & ~63u;
    header->context_size = sizeof(HFContextArea);
    header->parent_pid = (int32_t)HF_SYSCALL0(SYS_getppid);
    header->pid = record->pid;
}

static bool write_all(long descriptor, const void *bytes, size_t count, size_t offset) {
    return HF_SYSCALL4(SYS_pwrite64, descriptor, bytes, count, offset) == (long)count;
}

static const char reason[] = "a forked child has no crash thread to decide on its faults";

void hf_async_record_child(int signal, const siginfo_t *info, void *context) {
    HFForkMirror *mirror = hf_capture_state.fork_mirror;
    if (mirror == NULL ||
        atomic_load_explicit(&mirror->child, memory_order_relaxed) != (int32_t)HF_SYSCALL0(SYS_getpid)) {
        return;
    }
    HFRecord record;
    hf_async_fill_record(&record, &mirror->header, signal, info, context, 0);
    hf_async_walk_frame_pointers(&record, context, (HFImageList){mirror->images, mirror->header.image_count});
    record.facts |= HF_FACT_FORKED_CHILD;
    record.verdict = HF_VERDICT_TERMINATE;
    record.state = HF_SLOT_DECIDED;
    _Static_assert(sizeof reason <= HF_REASON_SIZE, "the reason has room");
    __builtin_memcpy(record.reason, reason, sizeof reason);
    HFSpoolHeader *header = &mirror->header;
    lay_out(header, &record);

    Path temporary;
    Path path;
    write_path(&temporary, mirror, &record, "/.", ".tmp");
    write_path(&path, mirror, &record, "/", ".spool");
    long descriptor = HF_SYSCALL4(
        SYS_openat, AT_FDCWD, temporary.text, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor < 0) {
        return;
    }
    bool whole = write_all(descriptor, header, sizeof *header, 0) &&
                 write_all(descriptor, mirror->images, header->image_count * sizeof(HFImage), header->image_offset) &&
                 write_all(descriptor, &record, sizeof record, header->slot_offset) &&
                 write_all(descriptor, &mirror->context, sizeof mirror->context, header->context_offset);
    HF_SYSCALL1(SYS_close, descriptor);
    // It appears under its name only when it is whole.
    if (whole) {
        HF_SYSCALL2(SYS_rename, temporary.text, path.text);
    } else {
        HF_SYSCALL1(SYS_unlink, temporary.text);
    }
}
