#include "linux_shims.h"

#include <sys/syscall.h>
#include <unistd.h>

long hf_directory_read(int directory, void *buffer, unsigned long size) {
    return syscall(SYS_getdents64, directory, buffer, size);
}
