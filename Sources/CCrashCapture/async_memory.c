// Reading memory that may not be there, without faulting.

#include "async_state.h"
#include "async_syscalls.h"

#include <sys/uio.h>

size_t hf_async_read_memory(uint64_t address, void *buffer, size_t size) {
    if (size == 0 || address == 0) {
        return 0;
    }
    // process_vm_readv(2) on ourselves fails with EFAULT where a load would fault. getpid: a forked child has another pid.
    struct iovec local = {.iov_base = buffer, .iov_len = size};
    struct iovec remote = {.iov_base = (void *)address, .iov_len = size};
    long pid = HF_SYSCALL0(SYS_getpid);
    long count = HF_SYSCALL6(SYS_process_vm_readv, pid, &local, 1, &remote, 1, 0);
    return count > 0 ? (size_t)count : 0;
}

size_t hf_async_copy_text(char *destination, size_t size, uint64_t source) {
    size_t done = 0;
    // In pieces that end at page ends: the text may stop just before memory that is not mapped.
    while (done + 1 < size) {
        uint64_t from = source + done;
        size_t piece = 4096 - from % 4096;
        if (piece > size - 1 - done) {
            piece = size - 1 - done;
        }
        size_t count = hf_async_read_memory(from, destination + done, piece);
        for (size_t i = 0; i < count; i += 1) {
            if (destination[done + i] == 0) {
                return done + i;
            }
        }
        done += count;
        if (count < piece) {
            break;
        }
    }
    destination[done] = 0;
    return done;
}
