// Lists the threads of the process, with what proc(5) says of each.
//
// The list is read from a descriptor that was opened beforehand: a process may fault because it has none left. The files of each
// thread need one; without it, a thread has no state, and the name that it gives itself when it answers.

#include "async_sample.h"
#include "async_state.h"
#include "async_syscalls.h"
#include "callout_deadline.h"
#include "thread_sampling.h"

#include <fcntl.h>
#include <stddef.h>

/// As getdents64(2) gives it.
typedef struct Entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
} Entry;

// MARK: The files of a thread

static size_t append_number(char *text, size_t length, uint32_t number) {
    char digits[10];
    size_t count = 0;
    do {
        digits[count] = (char)('0' + number % 10);
        count += 1;
        number /= 10;
    } while (number > 0);
    while (count > 0) {
        count -= 1;
        text[length] = digits[count];
        length += 1;
    }
    return length;
}

/// Opens a thread's file, whose name has at most eight bytes.
static long open_file(int32_t thread, const char *name) {
    char path[48] = "/proc/self/task/";
    const size_t folder = sizeof "/proc/self/task/" - 1;
    size_t length = append_number(path, folder, (uint32_t)thread);
    path[length] = '/';
    for (size_t i = 0; i <= 8 && (i == 0 || name[i - 1] != 0); i += 1) {
        path[length + 1 + i] = name[i];
    }
    int tasks = atomic_load_explicit(&hf_sample_state.tasks, memory_order_relaxed);
    long descriptor = HF_SYSCALL4(SYS_openat, tasks, path + folder, O_RDONLY | O_CLOEXEC, 0);
    // The list was not opened, for no thread is sampled, or somebody closed it.
    bool is_no_list = descriptor == -EBADF || descriptor == -ENOTDIR;
    return is_no_list ? HF_SYSCALL4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0) : descriptor;
}

/// Reads the beginning of a thread's file, and ends it with a NUL; returns its length, 0 for none.
static size_t read_file(int32_t thread, const char *name, char *text, size_t size) {
    text[0] = 0;
    long descriptor = open_file(thread, name);
    if (descriptor < 0) {
        return 0;
    }
    size_t done = 0;
    while (done + 1 < size) {
        long count = HF_SYSCALL3(SYS_read, descriptor, text + done, size - 1 - done);
        if (count == -EINTR) {
            continue;
        }
        if (count <= 0) {
            break;
        }
        done += (size_t)count;
    }
    HF_SYSCALL1(SYS_close, descriptor);
    text[done] = 0;
    return done;
}

/// proc_pid_stat(5): "815 (a name) S …", where the name may have any character.
static void read_state(HFThreadEntry *entry) {
    char text[160];
    size_t length = read_file(entry->id, "stat", text, sizeof text);
    size_t first = 0;
    while (first < length && text[first] != '(') {
        first += 1;
    }
    size_t last = length;
    while (last > first && text[last] != ')') {
        last -= 1;
    }
    if (last <= first || last + 2 >= length) {
        return;
    }
    for (size_t i = 0; i + 1 < sizeof entry->name && first + 1 + i < last; i += 1) {
        entry->name[i] = text[first + 1 + i];
    }
    entry->kernel_state = (uint8_t)text[last + 2];
}

/// proc_pid_syscall(5): a number and its arguments, "running", or -1 for a thread that waits outside of a system call.
static void read_system_call(HFThreadEntry *entry) {
    char text[32];
    size_t length = read_file(entry->id, "syscall", text, sizeof text);
    int32_t number = 0;
    size_t i = 0;
    for (; i < length && i < 6 && text[i] >= '0' && text[i] <= '9'; i += 1) {
        number = number * 10 + (text[i] - '0');
    }
    entry->system_call = i > 0 ? number : -1;
}

uint64_t hf_async_kernel_place(int32_t thread) {
    // A number, six arguments, stack pointer and program counter.
    char text[192];
    size_t length = read_file(thread, "syscall", text, sizeof text);
    if (length == 0 || text[0] < '0' || text[0] > '9') {
        return 0;
    }
    // FNV-1a (Fowler, Noll, Vo).
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < length; i += 1) {
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3;
    }
    return hash;
}

/// The text behind a key in a status file, "" if it is not there.
static const char *value_of(const char *text, const char *key) {
    for (const char *line = text; *line != 0;) {
        size_t i = 0;
        while (key[i] != 0 && line[i] == key[i]) {
            i += 1;
        }
        if (key[i] == 0) {
            return line + i;
        }
        while (*line != 0 && *line != '\n') {
            line += 1;
        }
        line += *line == '\n' ? 1 : 0;
    }
    return "";
}

bool hf_async_is_deaf(int32_t thread) {
    char text[2048];
    if (read_file(thread, "status", text, sizeof text) == 0) {
        return false;
    }
    if (value_of(text, "State:\t")[0] == 'D') {
        return true;
    }
    uint64_t blocked = 0;
    for (const char *digit = value_of(text, "SigBlk:\t"); *digit != 0 && *digit != '\n'; digit += 1) {
        blocked = blocked << 4 | (uint64_t)(*digit <= '9' ? *digit - '0' : *digit - 'a' + 10);
    }
    return (blocked >> (HF_SAMPLE_SIGNAL - 1) & 1) != 0;
}

// MARK: The list

/// The number that a name is, 0 if it is none.
static int32_t number_in(const char *name) {
    int64_t number = 0;
    for (size_t i = 0; name[i] != 0; i += 1) {
        if (name[i] < '0' || name[i] > '9' || number > INT32_MAX / 10) {
            return 0;
        }
        number = number * 10 + (name[i] - '0');
    }
    return (int32_t)number;
}

static void add_thread(HFThreadSnapshot *snapshot, int32_t thread) {
    if (snapshot->thread_count == HF_SNAPSHOT_THREADS) {
        snapshot->threads_omitted += 1;
        return;
    }
    HFThreadEntry *entry = &snapshot->threads[snapshot->thread_count];
    __builtin_memset(entry, 0, sizeof *entry);
    entry->id = thread;
    entry->system_call = -1;
    snapshot->thread_count += 1;
}

/// Reads a list of threads; false if it is not that of this process, or not to be read.
static bool read_list(int descriptor, HFThreadSnapshot *snapshot, int32_t except) {
    snapshot->thread_count = 0;
    snapshot->threads_omitted = 0;
    int32_t self = (int32_t)HF_SYSCALL0(SYS_gettid);
    bool has_self = false;
    HF_SYSCALL3(SYS_lseek, descriptor, 0, SEEK_SET);
    for (;;) {
        _Alignas(Entry) char buffer[2048];
        long count = HF_SYSCALL3(SYS_getdents64, descriptor, buffer, sizeof buffer);
        if (count <= 0) {
            return count == 0 && has_self;
        }
        for (long i = 0; i < count;) {
            const Entry *entry = (const Entry *)(buffer + i);
            int32_t thread = number_in(entry->name);
            if (thread == self) {
                has_self = true;
            } else if (thread > 0 && thread != except) {
                add_thread(snapshot, thread);
            }
            i += entry->length;
        }
    }
}

bool hf_async_list_threads(HFThreadSnapshot *snapshot, int32_t except) {
    int descriptor = atomic_load_explicit(&hf_sample_state.tasks, memory_order_relaxed);
    if (!read_list(descriptor, snapshot, except)) {
        // Somebody closed it, and another file may have its number now: that one is not ours to close.
        long another =
            HF_SYSCALL4(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
        if (another < 0) {
            snapshot->thread_count = 0;
            snapshot->threads_omitted = 0;
            return false;
        }
        atomic_store_explicit(&hf_sample_state.tasks, (int)another, memory_order_relaxed);
        if (!read_list((int)another, snapshot, except)) {
            return false;
        }
    }
    return true;
}

void hf_async_describe_thread(HFThreadEntry *entry) {
    read_state(entry);
    read_system_call(entry);
}
