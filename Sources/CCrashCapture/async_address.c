// What lies at an address, and who sent a signal: read from proc(5) by the thread that faulted.

#include "async_address.h"
#include "async_syscalls.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    /// Of a process with more mappings than fit, nothing is said: each line has some 90 bytes, and a handler must not dawdle.
    maximum_maps_bytes = 512 * 1024,
    /// One line at a time, and the rest of a longer path is dropped.
    line_size = 256,
};

/// One line of /proc/PID/maps (proc_pid_maps(5)).
typedef struct HFMapsLine {
    uint64_t start;
    uint64_t end;
    uint32_t permissions;
    const char *name;
} HFMapsLine;

static const char *read_hexadecimal(const char *text, uint64_t *value) {
    *value = 0;
    for (;; text += 1) {
        char byte = *text;
        if (byte >= '0' && byte <= '9') {
            *value = *value << 4 | (uint64_t)(byte - '0');
        } else if (byte >= 'a' && byte <= 'f') {
            *value = *value << 4 | (uint64_t)(byte - 'a' + 10);
        } else {
            return text;
        }
    }
}

/// `START-END rwxp OFFSET DEVICE INODE   PATH`, NUL-terminated.
static HFMapsLine parse(const char *text) {
    HFMapsLine line = {0, 0, 0, ""};
    text = read_hexadecimal(text, &line.start);
    if (*text != '-') {
        return line;
    }
    text = read_hexadecimal(text + 1, &line.end);
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
    size_t i = 0;
    for (; line->name[i] != 0 && i + 1 < sizeof mapping->name; i += 1) {
        mapping->name[i] = line->name[i];
    }
    mapping->name[i] = 0;
}

/// Takes a line; true when the address is not above it, so that no other is of interest.
static bool look_at(HFMapping *nearest, const char *text, uint64_t address) {
    HFMapsLine line = parse(text);
    if (line.end <= line.start) {
        return false;
    }
    if (line.end <= address) {
        take(nearest, &line);
        return false;
    }
    // It holds the address, or lies above it: then the nearer one counts.
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
    long descriptor = HF_SYSCALL4(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    if (descriptor < 0) {
        return;
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
            // All lines lie below the address.
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
            found = look_at(nearest, line, address);
        }
    }
    HF_SYSCALL1(SYS_close, descriptor);
    if (!found) {
        nearest->end = 0;
    }
}

void hf_async_name_process(int32_t pid, char *name, size_t size) {
    // "/proc/" and up to ten digits and "/comm".
    char path[32] = "/proc/";
    char digits[12];
    size_t count = 0;
    name[0] = 0;
    if (pid <= 0) {
        return;
    }
    for (uint32_t rest = (uint32_t)pid; rest > 0; rest /= 10) {
        digits[count] = (char)('0' + rest % 10);
        count += 1;
    }
    size_t end = sizeof "/proc/" - 1;
    while (count > 0) {
        count -= 1;
        path[end] = digits[count];
        end += 1;
    }
    static const char suffix[] = "/comm";
    for (size_t i = 0; i < sizeof suffix; i += 1) {
        path[end + i] = suffix[i];
    }
    long descriptor = HF_SYSCALL4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (descriptor < 0) {
        return;
    }
    long length = HF_SYSCALL3(SYS_read, descriptor, name, size - 1);
    HF_SYSCALL1(SYS_close, descriptor);
    size_t used = length > 0 ? (size_t)length : 0;
    // It ends with a line break.
    if (used > 0 && name[used - 1] == '\n') {
        used -= 1;
    }
    name[used] = 0;
}
