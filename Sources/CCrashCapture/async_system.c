// The state of the process and of the machine, asked for with system calls alone: nothing is allocated, and no lock is taken.

#include "async_state.h"
#include "async_syscalls.h"
#include "crash_context.h"

#include <fcntl.h>
#include <sys/stat.h>

/// More of a file of proc(5) than holds what is looked for; one page, as the kernel makes them.
enum { text_size = 4096 };

/// Reads the start of a file and ends it with a NUL; false when it cannot be had, for example because no descriptor is left.
static bool read_text(const char *path, char *text) {
    long descriptor = HF_SYSCALL4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
    if (descriptor < 0) {
        return false;
    }
    size_t length = 0;
    while (length + 1 < text_size) {
        long count = HF_SYSCALL3(SYS_read, descriptor, text + length, text_size - 1 - length);
        if (count <= 0) {
            break;
        }
        length += (size_t)count;
    }
    HF_SYSCALL1(SYS_close, descriptor);
    text[length] = 0;
    return length > 0;
}

/// Reads a number and moves behind it; false if there is none.
static bool read_number(const char **text, uint64_t *number) {
    const char *next = *text;
    while (*next == ' ' || *next == '\t') {
        next += 1;
    }
    if (*next < '0' || *next > '9') {
        return false;
    }
    uint64_t value = 0;
    while (*next >= '0' && *next <= '9') {
        value = value * 10 + (uint64_t)(*next - '0');
        next += 1;
    }
    *text = next;
    *number = value;
    return true;
}

/// The number in the line that begins with a name and a colon; false if there is none.
static bool field(const char *text, const char *name, uint64_t *number) {
    while (*text != 0) {
        size_t i = 0;
        while (name[i] != 0 && text[i] == name[i]) {
            i += 1;
        }
        if (name[i] == 0 && text[i] == ':') {
            const char *value = text + i + 1;
            return read_number(&value, number);
        }
        while (*text != 0 && *text != '\n') {
            text += 1;
        }
        text += *text == '\n';
    }
    return false;
}

static bool kilobytes(const char *text, const char *name, uint64_t *bytes) {
    if (!field(text, name, bytes)) {
        return false;
    }
    *bytes *= 1024;
    return true;
}

static void read_load(HFSystemState *state, uint32_t *known, const char *text) {
    // Three numbers with two decimals (proc(5), loadavg).
    for (int i = 0; i < 3; i += 1) {
        uint64_t whole;
        uint64_t decimals;
        if (!read_number(&text, &whole) || *text != '.') {
            return;
        }
        text += 1;
        if (!read_number(&text, &decimals)) {
            return;
        }
        state->load[i] = (uint32_t)(whole * 100 + decimals % 100);
    }
    *known |= HF_KNOWN_LOAD;
}

/// More entries than are counted where the kernel does not count them: each costs about a microsecond.
enum { most_counted = 16384 };

static bool count_entries(uint32_t *count) {
    long folder = HF_SYSCALL4(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_CLOEXEC | O_DIRECTORY, 0);
    if (folder < 0) {
        return false;
    }
    uint32_t entries = 0;
    long size;
    char bytes[text_size] __attribute__((aligned(8)));
    while ((size = HF_SYSCALL3(SYS_getdents64, folder, bytes, sizeof bytes)) > 0 && entries < most_counted) {
        // struct linux_dirent64: the length of an entry is at offset 16 (getdents(2)).
        for (long offset = 0; offset + 18 < size;) {
            uint16_t length;
            __builtin_memcpy(&length, bytes + offset + 16, sizeof length);
            if (length == 0) {
                break;
            }
            entries += 1;
            offset += length;
        }
    }
    HF_SYSCALL1(SYS_close, folder);
    // Without the folder itself, the one above it, and the descriptor that reads them.
    *count = entries > 3 ? entries - 3 : 0;
    return size == 0;
}

static void read_descriptors(HFSystemState *state, uint32_t *known) {
    // Since Linux 6.2 the size is how many there are (fs/proc/fd.c, proc_fd_getattr).
    struct stat status;
    if (HF_SYSCALL4(SYS_newfstatat, AT_FDCWD, "/proc/self/fd", &status, 0) == 0 && status.st_size > 0) {
        state->descriptors = (uint32_t)status.st_size;
        *known |= HF_KNOWN_DESCRIPTORS;
    } else if (count_entries(&state->descriptors)) {
        *known |= HF_KNOWN_DESCRIPTORS;
    }
}

static void read_limits(HFSystemState *state, uint32_t *known) {
    for (int i = 0; i < HF_LIMIT_COUNT; i += 1) {
        if (HF_SYSCALL4(SYS_prlimit64, 0, i, 0, state->limits[i]) != 0) {
            return;
        }
    }
    *known |= HF_KNOWN_LIMITS;
}

void hf_async_read_system_state(HFSystemState *state) {
    char text[text_size];
    uint64_t threads;
    uint32_t known = 0;
    if (read_text("/proc/self/status", text)) {
        if (kilobytes(text, "VmRSS", &state->resident) && kilobytes(text, "VmSize", &state->virtual_size)) {
            known |= HF_KNOWN_MEMORY;
        }
        known |= kilobytes(text, "VmHWM", &state->peak_resident) ? HF_KNOWN_PEAK : 0;
        if (field(text, "Threads", &threads)) {
            state->threads = (uint32_t)threads;
            known |= HF_KNOWN_THREADS;
        }
    }
    if (read_text("/proc/meminfo", text) && kilobytes(text, "MemTotal", &state->machine_total) &&
        kilobytes(text, "MemAvailable", &state->machine_available)) {
        known |= HF_KNOWN_MACHINE_MEMORY;
    }
    if (read_text("/proc/loadavg", text)) {
        read_load(state, &known, text);
    }
    read_descriptors(state, &known);
    read_limits(state, &known);
    __atomic_store_n(&state->known, known, __ATOMIC_RELEASE);
}
