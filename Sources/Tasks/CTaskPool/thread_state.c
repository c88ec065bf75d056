#include "thread_state.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

char hf_thread_state(int32_t thread) {
    char path[64];
    char text[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return 0;
    }
    ssize_t length = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    if (length <= 0) {
        return 0;
    }
    text[length] = 0;
    const char *end = strrchr(text, ')');
    return end != NULL && end[1] == ' ' ? end[2] : 0;
}
