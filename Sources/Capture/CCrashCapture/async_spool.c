// Making the spool whole again after somebody has cut its file.
//
// Access to a page of a mapping that lies beyond the end of its file raises SIGBUS (mmap(2)). Every loop writes to the spool, and so does
// the handler itself, which the kernel would end for that. So the handler checks the size of the file first, and an access of ordinary code
// that failed is repeated. The description of the process is written to the file once more. Faults that waited in the cut part have no
// report.

#include "async_spool.h"
#include "async_state.h"
#include "async_syscalls.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>

static dev_t device;
static ino_t file_number;
/// The thread that repairs, 0 for none.
static _Atomic(int32_t) mender;
static _Atomic(uint32_t) mends;
static _Atomic(bool) is_in_memory;
/// Accesses that failed although the file was whole.
static _Atomic(uint32_t) failures;

/// More than one for each thread that meets the same hole. Beyond that it is the disk.
enum { most_failures = 64 };

uint32_t hf_capture_spool_mends(void) { return atomic_load_explicit(&mends, memory_order_relaxed); }

bool hf_capture_is_spool_in_memory(void) { return atomic_load_explicit(&is_in_memory, memory_order_relaxed); }

void hf_capture_check_spool(void) {
    if (atomic_load_explicit(&hf_capture_state.installed, memory_order_acquire)) {
        hf_async_check_spool();
    }
}

/// Looks at the file; false if the descriptor is closed, or belongs to another file by now.
static bool look(struct stat *status) {
    return HF_SYSCALL2(SYS_fstat, hf_capture_state.configuration.spool_descriptor, status) == 0 &&
           status->st_dev == device && status->st_ino == file_number;
}

void hf_async_note_spool(void) {
    struct stat status;
    atomic_store(&is_in_memory, false);
    if (HF_SYSCALL2(SYS_fstat, hf_capture_state.configuration.spool_descriptor, &status) == 0) {
        device = status.st_dev;
        file_number = status.st_ino;
    } else {
        atomic_store(&is_in_memory, true);
    }
}

/// Whether the last byte of the mapping is gone: for a process that has closed the file's descriptor.
static bool is_end_missing(void) {
    char byte;
    struct iovec local = {&byte, 1};
    struct iovec remote = {(char *)hf_capture_state.configuration.spool + hf_capture_state.configuration.spool_size - 1, 1};
    return HF_SYSCALL6(SYS_process_vm_readv, HF_SYSCALL0(SYS_getpid), &local, 1, &remote, 1, 0) == -EFAULT;
}

static bool is_cut(void) {
    struct stat status;
    return look(&status) ? (uint64_t)status.st_size < hf_capture_state.configuration.spool_size : is_end_missing();
}

/// Gives the file its size and its pages; false if there is no file, or no room.
static bool enlarge(void) {
    struct stat status;
    if (!look(&status)) {
        return false;
    }
    int file = hf_capture_state.configuration.spool_descriptor;
    uint64_t size = hf_capture_state.configuration.spool_size;
    // The pages, too: a hole for which the disk has no room raises SIGBUS again.
    long result = HF_SYSCALL4(SYS_fallocate, file, 0, 0, size);
    if (result == -EOPNOTSUPP) {
        result = HF_SYSCALL2(SYS_ftruncate, file, size);
    }
    return result == 0;
}

/// Puts memory in the place of the file. From then on, records are lost with the process.
static void move_to_memory(void) {
    HF_SYSCALL6(
        SYS_mmap, hf_capture_state.configuration.spool, hf_capture_state.configuration.spool_size, PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    // The same advice that the mapping before had (madvise(2)).
    HF_SYSCALL3(
        SYS_madvise, hf_capture_state.configuration.spool, hf_capture_state.configuration.spool_size, MADV_DONTFORK);
    atomic_store_explicit(&is_in_memory, true, memory_order_release);
}

/// Writes the description of the process again, as far as it is gone: cut pages read as zeros.
static void restore(void) {
    const HFForkMirror *mirror = hf_capture_state.fork_mirror;
    HFSpoolHeader *spool = hf_capture_state.configuration.spool;
    if (mirror == NULL) {
        return;
    }
    // The last field of the header, which is never zero.
    if (spool->limit_check == 0) {
        // Other threads may be adding to it.
        uint32_t count = atomic_load_explicit(&hf_capture_state.fault_count, memory_order_relaxed);
        __builtin_memcpy(spool, &mirror->header, sizeof *spool);
        __atomic_store_n(&spool->fault_count, count, __ATOMIC_RELEASE);
    }
    HFImage *images = (HFImage *)(void *)((char *)spool + spool->image_offset);
    __builtin_memcpy(images, mirror->images, mirror->header.image_count * sizeof *images);
    HFContextArea *area = (HFContextArea *)(void *)((char *)spool + spool->context_offset);
    if (spool->context_offset != 0 && area->size == 0) {
        uint64_t total = area->notes_total;
        __builtin_memcpy(area, &mirror->context, sizeof *area);
        // The earlier notes are gone, with their numbers.
        area->notes_total = total;
    }
}

/// Waits a moment for a thread that repairs. False if it takes too long: it may be this very thread, below a handler of the program.
static bool begin(int32_t self) {
    for (int i = 0; i < 1000; i += 1) {
        int32_t nobody = 0;
        if (atomic_compare_exchange_strong(&mender, &nobody, self)) {
            return true;
        }
        if (nobody == self) {
            return false;
        }
        struct timespec pause = {0, 1000000};
        HF_SYSCALL2(SYS_nanosleep, &pause, 0);
    }
    return false;
}

/// Repairs under the lock, unless another thread has. `must`: an access failed, and the file looks whole.
static void mend(bool must) {
    int32_t self = (int32_t)HF_SYSCALL0(SYS_gettid);
    if (!begin(self)) {
        return;
    }
    if (is_cut() || must) {
        if (must || !enlarge()) {
            move_to_memory();
        }
        restore();
        atomic_fetch_add_explicit(&mends, 1, memory_order_relaxed);
    }
    atomic_store(&mender, 0);
}

void hf_async_hand_spool_over(bool hands_over) {
    struct stat status;
    if (hf_capture_state.configuration.hands_spool_over && look(&status)) {
        HF_SYSCALL3(SYS_fcntl, hf_capture_state.configuration.spool_descriptor, F_SETFD, hands_over ? 0 : FD_CLOEXEC);
    }
}

void hf_async_check_spool(void) {
    if (!atomic_load_explicit(&is_in_memory, memory_order_acquire) && is_cut()) {
        mend(false);
    }
}

bool hf_async_mend_spool(int signal, const siginfo_t *info) {
    uint64_t start = (uint64_t)hf_capture_state.configuration.spool;
    uint64_t address = (uint64_t)info->si_addr;
    if (signal != SIGBUS || info->si_code <= 0 || address < start ||
        address >= start + hf_capture_state.configuration.spool_size) {
        return false;
    }
    if (atomic_load_explicit(&is_in_memory, memory_order_acquire)) {
        // Another thread has put memory there a moment ago: memory has no end to lie beyond.
        return atomic_fetch_add_explicit(&failures, 1, memory_order_relaxed) < 2 * most_failures;
    }
    if (is_cut()) {
        mend(false);
    } else if (atomic_fetch_add_explicit(&failures, 1, memory_order_relaxed) >= most_failures) {
        mend(true);
    }
    return true;
}
