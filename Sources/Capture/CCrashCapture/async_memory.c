// Reading memory that may not be there, without faulting.
//
// By process_vm_readv(2) on ourselves. If a seccomp filter refuses that, by proc_pid_mem(5), from a file that was opened at install.

#include "async_state.h"
#include "async_syscalls.h"

/// A descriptor of /proc/self/mem; below 0 for none.
static _Atomic(int) memory_file = -1;

int hf_async_exchange_memory_file(int file) {
    return atomic_exchange_explicit(&memory_file, file, memory_order_acq_rel);
}

/// Whether a file is the memory of this process: a forked child has its parent's file, and the program may have closed it.
static bool is_own_memory(int file) {
    static _Atomic(uint64_t) asked;
    uint64_t number = atomic_fetch_add_explicit(&asked, 1, memory_order_relaxed) + 1;
    volatile uint64_t written = (uint64_t)HF_SYSCALL0(SYS_getpid) << 32 ^ number * 0x9e3779b97f4a7c15;
    uint64_t found = 0;
    long count = HF_SYSCALL4(SYS_pread64, file, &found, sizeof found, (uint64_t)&written);
    return count == (long)sizeof found && found == written;
}

/// Reads from the file if process_vm_readv(2) was refused; not if it said that there is no such memory.
static size_t read_otherwise(long result, uint64_t address, void *buffer, size_t size) {
    int file = atomic_load_explicit(&memory_file, memory_order_acquire);
    if (result == -EFAULT || file < 0 || !is_own_memory(file)) {
        return 0;
    }
    long count = HF_SYSCALL4(SYS_pread64, file, buffer, size, address);
    return count > 0 ? (size_t)count : 0;
}

size_t hf_async_read_memory(uint64_t address, void *buffer, size_t size) {
    if (size == 0 || address == 0) {
        return 0;
    }
    // This call fails with EFAULT where a load would fault. getpid: a forked child has another pid.
    struct iovec local = {.iov_base = buffer, .iov_len = size};
    struct iovec remote = {.iov_base = (void *)address, .iov_len = size};
    long pid = HF_SYSCALL0(SYS_getpid);
    long count = HF_SYSCALL6(SYS_process_vm_readv, pid, &local, 1, &remote, 1, 0);
    return count > 0 ? (size_t)count : read_otherwise(count, address, buffer, size);
}

size_t hf_async_read_pieces(const struct iovec *remote, const struct iovec *local, size_t count) {
    long pid = HF_SYSCALL0(SYS_getpid);
    long read = HF_SYSCALL6(SYS_process_vm_readv, pid, local, count, remote, count, 0);
    if (read > 0) {
        return (size_t)read;
    }
    size_t done = 0;
    for (size_t i = 0; i < count; i += 1) {
        size_t part = read_otherwise(read, (uint64_t)remote[i].iov_base, local[i].iov_base, local[i].iov_len);
        done += part;
        if (part < local[i].iov_len) {
            break;
        }
    }
    return done;
}

/// The first piece of a text: if its first byte can be read, all of the piece can.
static struct iovec first_piece(size_t size, uint64_t source) {
    size_t piece = 4096 - source % 4096;
    return (struct iovec){.iov_base = (void *)source, .iov_len = piece < size - 1 ? piece : size - 1};
}

/// Terminates a text whose first `count` bytes were copied; false if its end is not among them and there may be more.
static bool end_text(char *text, size_t size, size_t count) {
    for (size_t i = 0; i < count; i += 1) {
        if (text[i] == 0) {
            return true;
        }
    }
    text[count] = 0;
    return count + 1 == size;
}

void hf_async_copy_texts(HFText first, HFText second) {
    struct iovec remote[2] = {first_piece(first.size, first.source), first_piece(second.size, second.source)};
    struct iovec local[2] = {{first.text, remote[0].iov_len}, {second.text, remote[1].iov_len}};
    bool is_whole = first.source != 0 && second.source != 0 &&
                    hf_async_read_pieces(remote, local, 2) == remote[0].iov_len + remote[1].iov_len;
    if (!is_whole || !end_text(first.text, first.size, remote[0].iov_len)) {
        hf_async_copy_text(first.text, first.size, first.source);
    }
    if (!is_whole || !end_text(second.text, second.size, remote[1].iov_len)) {
        hf_async_copy_text(second.text, second.size, second.source);
    }
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
