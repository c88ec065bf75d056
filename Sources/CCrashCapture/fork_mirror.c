// What a forked child keeps of its parent's capture: enough for a record of its own, and not the lock of the spool file. A spool file
// that somebody has cut is made whole from the same copy (async_spool.c).
//
// Ordinary code, run by fork(3) around the system call; vfork(2), posix_spawn(3) and clone(2) do not run it, and their children
// leave no records.

#include "fork_mirror.h"

#include "async_state.h"
#include "crash_context.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void hf_copy_spool(void) {
    HFForkMirror *mirror = hf_capture_state.fork_mirror;
    // A child that forks has its own copy already.
    if (mirror == NULL || hf_capture_state.pid != hf_async_process()) {
        return;
    }
    // First: who copies from a file that was cut loses what it is made whole with.
    hf_capture_check_spool();
    const HFSpoolHeader *spool = hf_capture_state.configuration.spool;
    if (spool->limit_check == 0) {
        return;
    }
    uint32_t count = __atomic_load_n(&spool->image_count, __ATOMIC_ACQUIRE);
    count = count < HF_MAXIMUM_IMAGES ? count : HF_MAXIMUM_IMAGES;
    mirror->header = *spool;
    mirror->header.image_count = count;
    const HFContextSection *context = hf_async_context();
    if (context != NULL) {
        mirror->context = context->area;
    }
    memcpy(mirror->images, (const char *)spool + spool->image_offset, count * sizeof(HFImage));
}

static void begin_in_child(void) {
    // Its memory is that of the spool file, which is not the child's.
    hf_context_forget();
    if (hf_capture_state.configuration.spool_descriptor >= 0) {
        close(hf_capture_state.configuration.spool_descriptor);
        // A grandchild must not close what took its number.
        hf_capture_state.configuration.spool_descriptor = -1;
    }
    if (hf_capture_state.fork_mirror != NULL) {
        hf_capture_state.fork_mirror->header.fault_count = 0;
        atomic_store(&hf_capture_state.fork_mirror->child, (int32_t)getpid());
    }
}

void hf_prepare_for_fork(void) {
    const char *folder = hf_capture_state.configuration.spool_folder;
    if (hf_capture_state.configuration.spool_descriptor >= 0 && !hf_capture_state.configuration.hands_spool_over &&
        strlen(folder) < HF_SPOOL_FOLDER_SIZE) {
        HFForkMirror *mirror = calloc(1, sizeof *mirror);
        if (mirror != NULL) {
            strcpy(mirror->folder, folder);
        }
        hf_capture_state.fork_mirror = mirror;
        hf_copy_spool();
    }
    // The mapping, too, would hold the file open, and with it the lock: it is not the child's (madvise(2), MADV_DONTFORK).
    // Once: an install may come again (hf_capture_withdraw).
    static bool is_registered;
    if (!is_registered) {
        is_registered = true;
        pthread_atfork(hf_copy_spool, NULL, begin_in_child);
    }
}
