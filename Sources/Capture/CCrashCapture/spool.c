// The spool in ordinary code: memory in the place of its file, and a copy of its description of the process.
//
// A forked child does not use its parent's capture: it makes a record of its own from the copy (async_child.c), without the lock of the
// spool file. A spool file that somebody has cut is made whole from the same copy (async_spool.c).

#include "async_spool.h"
#include "async_state.h"
#include "crash_context.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { memory_spool_seals = F_SEAL_SHRINK };

bool hf_capture_is_memory_spool(int descriptor) {
    HFSpoolHeader header;
    return fcntl(descriptor, F_GET_SEALS) == memory_spool_seals &&
           pread(descriptor, &header, sizeof header, 0) == (ssize_t)sizeof header &&
           memcmp(header.magic, "HFSPOOL", sizeof header.magic) == 0;
}

int hf_capture_make_memory_spool(uint64_t size) {
    // Sealed, so that nobody can cut it who opens it by proc_pid_fd(5).
    int descriptor = memfd_create("holdfast-spool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor >= 0 &&
        (ftruncate(descriptor, (off_t)size) != 0 || fcntl(descriptor, F_ADD_SEALS, memory_spool_seals) != 0)) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

// MARK: The copy

/// Held while the copy is made, and while this process forks: the child has a whole copy.
static pthread_mutex_t copying = PTHREAD_MUTEX_INITIALIZER;

static void copy_spool(void) {
    HFForkMirror *mirror = hf_capture_state.fork_mirror;
    // A child that forks has its own copy already.
    if (mirror == NULL || hf_capture_state.pid != hf_async_process()) {
        return;
    }
    // First: a copy of a cut file would lack what the file is made whole with.
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

void hf_copy_spool(void) {
    pthread_mutex_lock(&copying);
    copy_spool();
    pthread_mutex_unlock(&copying);
}

/// How long a fork waits for a crash thread that prepares itself, in nanoseconds: 1 ms without others.
static const uint64_t patience = 100 * 1000 * 1000;

void hf_before_fork(void) {
    // The copy lacks what that thread adds, and a child would never get back a lock of the loader's.
    if (hf_capture_state.pid == hf_async_process()) {
        hf_capture_await_ready(patience);
    }
    pthread_mutex_lock(&copying);
    copy_spool();
}

void hf_after_fork(void) { pthread_mutex_unlock(&copying); }

void hf_after_fork_in_child(void) { pthread_mutex_init(&copying, NULL); }

void hf_make_spool_copy(void) {
    const char *folder = hf_capture_state.configuration.spool_folder;
    if (hf_capture_state.configuration.spool_descriptor < 0 || hf_capture_state.configuration.hands_spool_over ||
        strlen(folder) >= HF_SPOOL_FOLDER_SIZE) {
        return;
    }
    HFForkMirror *mirror = calloc(1, sizeof *mirror);
    if (mirror != NULL) {
        strcpy(mirror->folder, folder);
    }
    hf_capture_state.fork_mirror = mirror;
    hf_copy_spool();
}
