// Lists the threads of the process, with what proc(5) says of each.
//
// The list is read from a descriptor that was opened beforehand, because a process may fault when it has none left. The files of each
// thread need one more. Without it, a thread has no state, and only the name that it gives when it answers.

#include "async_proc.h"
#include "async_sample.h"
#include "async_state.h"
#include "async_syscalls.h"
#include "thread_sampling.h"

#include <fcntl.h>
#include <stddef.h>

/// A descriptor of /proc/self/task, -1 for none.
static _Atomic(int) tasks = -1;

int hf_async_exchange_thread_list(int descriptor) { return atomic_exchange(&tasks, descriptor); }

// MARK: The files of a thread

/// Reads the beginning of a thread's file; returns its length, 0 for none.
static size_t read_file(int32_t thread, const char *name, char *text, size_t size) {
    char path[48];
    size_t folder = hf_async_append(path, sizeof path, 0, "/proc/self/task/");
    size_t length = hf_async_append_number(path, sizeof path, folder, (uint32_t)thread);
    length = hf_async_append(path, sizeof path, length, "/");
    hf_async_append(path, sizeof path, length, name);
    long descriptor = hf_async_open(atomic_load_explicit(&tasks, memory_order_relaxed), path + folder);
    // The list was not opened because no thread is sampled, or the program closed it.
    if (descriptor == -EBADF || descriptor == -ENOTDIR) {
        descriptor = hf_async_open(AT_FDCWD, path);
    }
    return hf_async_read_text(descriptor, text, size);
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
    read_file(entry->id, "syscall", text, sizeof text);
    const char *first = text;
    uint64_t number;
    entry->system_call = hf_async_read_number(&first, &number) ? (int32_t)number : -1;
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

static bool has_sample_signal(const char *status, const char *field) {
    const char *set = hf_async_field(status, field);
    return set != NULL && (hf_async_read_hexadecimal(&set) >> (HF_SAMPLE_SIGNAL - 1) & 1) != 0;
}

bool hf_async_is_deaf(int32_t thread) {
    char text[2048];
    if (read_file(thread, "status", text, sizeof text) == 0) {
        return false;
    }
    const char *state = hf_async_field(text, "State");
    // Not pending any more where its handler runs, which blocks it, too: such a thread is about to answer.
    return (state != NULL && *state == 'D') || (has_sample_signal(text, "SigBlk") && has_sample_signal(text, "SigPnd"));
}

// MARK: Holdfast's own threads

enum { most_own_threads = 32 };

typedef struct OwnThread {
    /// 0 for none, -1 for one that comes.
    _Atomic(int32_t) id;
    _Atomic(bool) rests;
} OwnThread;

static OwnThread own_threads[most_own_threads];
static _Thread_local OwnThread *own_thread __attribute__((tls_model("initial-exec")));

void hf_own_thread_begin(void) {
    for (int i = 0; i < most_own_threads && own_thread == NULL; i += 1) {
        int32_t none = 0;
        if (atomic_compare_exchange_strong(&own_threads[i].id, &none, -1)) {
            own_thread = &own_threads[i];
            atomic_store(&own_thread->rests, false);
            atomic_store(&own_thread->id, (int32_t)HF_SYSCALL0(SYS_gettid));
        }
    }
}

void hf_own_thread_end(void) {
    if (own_thread != NULL) {
        atomic_store(&own_thread->id, 0);
        own_thread = NULL;
    }
}

void hf_own_thread_rests(bool rests) {
    if (own_thread != NULL) {
        atomic_store_explicit(&own_thread->rests, rests, memory_order_relaxed);
    }
}

/// Whether a thread is one of Holdfast's own that waits for work: then it has nothing to tell.
static bool is_resting(int32_t thread) {
    for (int i = 0; i < most_own_threads; i += 1) {
        if (atomic_load_explicit(&own_threads[i].id, memory_order_acquire) == thread) {
            return atomic_load_explicit(&own_threads[i].rests, memory_order_relaxed);
        }
    }
    return false;
}

// MARK: The list

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

/// Reads a list of threads; false if it is not that of this process, or cannot be read.
static bool read_list(int descriptor, HFThreadSnapshot *snapshot, int32_t except) {
    snapshot->thread_count = 0;
    snapshot->threads_omitted = 0;
    int32_t self = (int32_t)HF_SYSCALL0(SYS_gettid);
    bool has_self = false;
    HF_SYSCALL3(SYS_lseek, descriptor, 0, SEEK_SET);
    HFFolder folder;
    hf_async_begin_entries(&folder, descriptor);
    const char *name;
    while ((name = hf_async_next_entry(&folder)) != NULL) {
        int32_t thread = hf_async_number_of(name);
        if (thread == self) {
            has_self = true;
        } else if (thread > 0 && thread != except && !is_resting(thread)) {
            add_thread(snapshot, thread);
        }
    }
    return folder.size == 0 && has_self;
}

bool hf_async_list_threads(HFThreadSnapshot *snapshot, int32_t except) {
    int descriptor = atomic_load_explicit(&tasks, memory_order_relaxed);
    if (!read_list(descriptor, snapshot, except)) {
        // The program closed it, and another file may have its number now, which we must not close.
        long another = hf_async_open(AT_FDCWD, "/proc/self/task");
        if (another < 0) {
            snapshot->thread_count = 0;
            snapshot->threads_omitted = 0;
            return false;
        }
        atomic_store_explicit(&tasks, (int)another, memory_order_relaxed);
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
