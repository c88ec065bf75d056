// Reading proc(5) and writing numbers, for code that may call no library.

#include "async_proc.h"
#include "async_syscalls.h"

#include <fcntl.h>

// MARK: Files

long hf_async_open(int folder, const char *path) {
    return HF_SYSCALL4(SYS_openat, folder, path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
}

size_t hf_async_read_text(long descriptor, char *text, size_t size) {
    size_t length = 0;
    while (descriptor >= 0 && length + 1 < size) {
        long count = HF_SYSCALL3(SYS_read, descriptor, text + length, size - 1 - length);
        if (count == -EINTR) {
            continue;
        }
        if (count <= 0) {
            break;
        }
        length += (size_t)count;
    }
    if (descriptor >= 0) {
        HF_SYSCALL1(SYS_close, descriptor);
    }
    text[length] = 0;
    return length;
}

// MARK: Folders

/// As getdents64(2) gives it.
typedef struct Entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
} Entry;

void hf_async_begin_entries(HFFolder *folder, long descriptor) {
    folder->descriptor = descriptor;
    folder->size = 0;
    folder->offset = 0;
}

const char *hf_async_next_entry(HFFolder *folder) {
    if (folder->offset >= folder->size) {
        folder->size = HF_SYSCALL3(SYS_getdents64, folder->descriptor, folder->bytes, sizeof folder->bytes);
        folder->offset = 0;
        if (folder->size <= 0) {
            return NULL;
        }
    }
    const Entry *entry = (const Entry *)(const void *)(folder->bytes + folder->offset);
    folder->offset += entry->length;
    return entry->name;
}

int32_t hf_async_number_of(const char *name) {
    const char *end = name;
    uint64_t number = 0;
    return hf_async_read_number(&end, &number) && *end == 0 && number <= INT32_MAX ? (int32_t)number : -1;
}

// MARK: Texts

bool hf_async_read_number(const char **text, uint64_t *number) {
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

uint64_t hf_async_read_hexadecimal(const char **text) {
    uint64_t value = 0;
    for (;; *text += 1) {
        char byte = **text;
        if (byte >= '0' && byte <= '9') {
            value = value << 4 | (uint64_t)(byte - '0');
        } else if (byte >= 'a' && byte <= 'f') {
            value = value << 4 | (uint64_t)(byte - 'a' + 10);
        } else {
            return value;
        }
    }
}

const char *hf_async_field(const char *text, const char *name) {
    while (*text != 0) {
        size_t i = 0;
        while (name[i] != 0 && text[i] == name[i]) {
            i += 1;
        }
        if (name[i] == 0 && text[i] == ':') {
            const char *value = text + i + 1;
            while (*value == ' ' || *value == '\t') {
                value += 1;
            }
            return value;
        }
        while (*text != 0 && *text != '\n') {
            text += 1;
        }
        text += *text == '\n';
    }
    return NULL;
}

size_t hf_async_append(char *text, size_t size, size_t length, const char *more) {
    for (; *more != 0 && length + 1 < size; more += 1) {
        text[length] = *more;
        length += 1;
    }
    text[length] = 0;
    return length;
}

size_t hf_async_append_number(char *text, size_t size, size_t length, uint64_t number) {
    char digits[21];
    size_t first = sizeof digits - 1;
    digits[first] = 0;
    do {
        first -= 1;
        digits[first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return hf_async_append(text, size, length, digits + first);
}
