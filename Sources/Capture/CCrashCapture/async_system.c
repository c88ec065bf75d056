// What the kernel says of an address, of a process, and of the machine, by system calls alone: without a lock, and without allocating.

#include "async_proc.h"
#include "async_state.h"
#include "async_syscalls.h"
#include "thread_sampling.h"

#include <fcntl.h>
#include <sys/stat.h>

// MARK: An address

enum {
    /// Nothing is said of a process with more mappings than fit: each line has some 90 bytes, and a handler must not take long.
    maximum_maps_bytes = 512 * 1024,
    /// One line at a time; the rest of a longer path is dropped.
    line_size = 256,
    /// The fourth of the permissions.
    shared = 1 << 3,
};

/// One line of /proc/PID/maps (proc_pid_maps(5)).
typedef struct HFMapsLine {
    uint64_t start;
    uint64_t end;
    uint32_t permissions;
    const char *name;
} HFMapsLine;

/// `START-END rwxp OFFSET DEVICE INODE   PATH`, NUL-terminated.
static HFMapsLine parse(const char *text) {
    HFMapsLine line = {0, 0, 0, ""};
    line.start = hf_async_read_hexadecimal(&text);
    if (*text != '-') {
        return line;
    }
    text += 1;
    line.end = hf_async_read_hexadecimal(&text);
    static const char letters[] = "rwxs";
    for (uint32_t i = 0; i < 4 && text[0] != 0 && text[1 + i] != 0; i += 1) {
        line.permissions |= text[1 + i] == letters[i] ? 1u << i : 0;
    }
    // Past the permissions, the offset, the device and the inode.
    for (int field = 0; field < 4; field += 1) {
        while (*text == ' ') {
            text += 1;
        }
        while (*text != ' ' && *text != 0) {
            text += 1;
        }
    }
    while (*text == ' ') {
        text += 1;
    }
    line.name = text;
    return line;
}

static void take(HFMapping *mapping, const HFMapsLine *line) {
    mapping->start = line->start;
    mapping->end = line->end;
    mapping->permissions = line->permissions;
    hf_async_append(mapping->name, sizeof mapping->name, 0, line->name);
}

/// Has a function look at the mappings one after the other until it returns true; returns whether all were read, or it did.
static bool look_at_mappings(bool look(void *context, const char *line), void *context) {
    long descriptor = hf_async_open(AT_FDCWD, "/proc/self/maps");
    if (descriptor < 0) {
        return false;
    }
    char buffer[1024];
    char line[line_size];
    size_t length = 0;
    long total = 0;
    bool found = false;
    while (!found && total < maximum_maps_bytes) {
        long count = HF_SYSCALL3(SYS_read, descriptor, buffer, sizeof buffer);
        if (count == -EINTR) {
            continue;
        }
        if (count <= 0) {
            found = count == 0;
            break;
        }
        total += count;
        for (long i = 0; i < count && !found; i += 1) {
            if (buffer[i] != '\n') {
                if (length + 1 < sizeof line) {
                    line[length] = buffer[i];
                    length += 1;
                }
                continue;
            }
            line[length] = 0;
            length = 0;
            found = look(context, line);
        }
    }
    HF_SYSCALL1(SYS_close, descriptor);
    return found;
}

/// Where an address is looked for.
typedef struct HFAddressSearch {
    uint64_t address;
    HFMapping *nearest;
} HFAddressSearch;

/// Takes a line; true if the address is not above it, so that the lines after it do not matter.
static bool look_for_address(void *context, const char *text) {
    const HFAddressSearch *search = context;
    HFMapping *nearest = search->nearest;
    uint64_t address = search->address;
    HFMapsLine line = parse(text);
    if (line.end <= line.start) {
        return false;
    }
    if (line.end <= address) {
        take(nearest, &line);
        return false;
    }
    // The mapping holds the address, or lies above it: then the nearer one counts.
    if (line.start <= address || nearest->end == 0 || line.start - address < address - nearest->end) {
        take(nearest, &line);
    }
    return true;
}

void hf_async_find_mapping(uint64_t address, HFMapping *nearest) {
    nearest->start = 0;
    nearest->end = 0;
    nearest->permissions = 0;
    nearest->name[0] = 0;
    HFAddressSearch search = {address, nearest};
    if (!look_at_mappings(look_for_address, &search)) {
        nearest->end = 0;
    }
}

static bool unmap_if_shared(void *context, const char *text) {
    (void)context;
    HFMapsLine line = parse(text);
    if (line.end > line.start && (line.permissions & shared) != 0) {
        HF_SYSCALL2(SYS_munmap, line.start, line.end - line.start);
    }
    return false;
}

void hf_async_unmap_shared(void) { look_at_mappings(unmap_if_shared, NULL); }

// MARK: A process

void hf_async_name_process(int32_t pid, char *name, size_t size) {
    char path[32];
    name[0] = 0;
    if (pid <= 0) {
        return;
    }
    size_t end = hf_async_append(path, sizeof path, 0, "/proc/");
    end = hf_async_append_number(path, sizeof path, end, (uint32_t)pid);
    hf_async_append(path, sizeof path, end, "/comm");
    size_t length = hf_async_read_text(hf_async_open(AT_FDCWD, path), name, size);
    // It ends with a line break.
    if (length > 0 && name[length - 1] == '\n') {
        name[length - 1] = 0;
    }
}

/// Whether a status file names a tracer.
static bool has_tracer(const char *path) {
    // The tracer is named in the eighth line.
    char text[512];
    hf_async_read_text(hf_async_open(AT_FDCWD, path), text, sizeof text);
    const char *tracer = hf_async_field(text, "TracerPid");
    return tracer != NULL && *tracer >= '1' && *tracer <= '9';
}

bool hf_async_is_traced(void) {
    // A tracer traces threads (ptrace(2)): debuggers trace all, other tracers may not.
    return has_tracer("/proc/thread-self/status") || has_tracer("/proc/self/status");
}

// MARK: The state of the process and the machine

/// One page, which holds the wanted part of a file of proc(5): the kernel makes them page by page.
enum { text_size = 4096 };

/// False if the file cannot be read, for example because no descriptor is left.
static bool read_text(const char *path, char *text) {
    return hf_async_read_text(hf_async_open(AT_FDCWD, path), text, text_size) > 0;
}

static bool kilobytes(const char *text, const char *name, uint64_t *bytes) {
    const char *value = hf_async_field(text, name);
    if (value == NULL || !hf_async_read_number(&value, bytes)) {
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
        if (!hf_async_read_number(&text, &whole) || *text != '.') {
            return;
        }
        text += 1;
        if (!hf_async_read_number(&text, &decimals)) {
            return;
        }
        state->load[i] = (uint32_t)(whole * 100 + decimals % 100);
    }
    *known |= HF_KNOWN_LOAD;
}

/// If the kernel does not count them, no more entries than these are counted: each costs about a microsecond.
enum { most_counted = 16384 };

static bool count_descriptors(uint32_t *count) {
    HFFolder folder;
    hf_async_begin_entries(&folder, hf_async_open(AT_FDCWD, "/proc/self/fd"));
    if (folder.descriptor < 0) {
        return false;
    }
    uint32_t entries = 0;
    const char *name;
    while (entries < most_counted && (name = hf_async_next_entry(&folder)) != NULL) {
        entries += hf_async_number_of(name) >= 0;
    }
    HF_SYSCALL1(SYS_close, folder.descriptor);
    // Without the descriptor that reads them.
    *count = entries > 0 ? entries - 1 : 0;
    return folder.size == 0;
}

static void read_descriptors(HFSystemState *state, uint32_t *known) {
    // Since Linux 6.2 the size is the number of open descriptors (fs/proc/fd.c, proc_fd_getattr).
    struct stat status;
    if (HF_SYSCALL4(SYS_newfstatat, AT_FDCWD, "/proc/self/fd", &status, 0) == 0 && status.st_size > 0) {
        state->descriptors = (uint32_t)status.st_size;
        *known |= HF_KNOWN_DESCRIPTORS;
    } else if (count_descriptors(&state->descriptors)) {
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
    const char *value;
    uint64_t threads;
    uint32_t known = 0;
    if (read_text("/proc/self/status", text)) {
        if (kilobytes(text, "VmRSS", &state->resident) && kilobytes(text, "VmSize", &state->virtual_size)) {
            known |= HF_KNOWN_MEMORY;
        }
        known |= kilobytes(text, "VmHWM", &state->peak_resident) ? HF_KNOWN_PEAK : 0;
        value = hf_async_field(text, "Threads");
        if (value != NULL && hf_async_read_number(&value, &threads)) {
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
