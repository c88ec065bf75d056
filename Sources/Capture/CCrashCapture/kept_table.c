// Memfds and their seals, which Swift cannot reach. Ordinary code.

#include "kept_table.h"
#include "async_restart.h"
#include "async_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

int hf_kept_create(void) {
    int descriptor = memfd_create("holdfast-kept", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return descriptor < 0 ? -errno : descriptor;
}

int hf_kept_is_table(int descriptor) {
    // A file that is no memfd has no seals (EINVAL), or only the one that forbids others (fcntl(2)).
    int seals = fcntl(descriptor, F_GET_SEALS);
    return seals >= 0 && (seals & ~(F_SEAL_FUTURE_WRITE | F_SEAL_WRITE)) == 0;
}

int hf_kept_is_frozen(int table) {
    int seals = fcntl(table, F_GET_SEALS);
    return seals >= 0 && (seals & (F_SEAL_FUTURE_WRITE | F_SEAL_WRITE)) != 0;
}

// What the kernel said when it executed the program (getauxval(3)): the user may have changed since.

static bool is_set_user(void) { return getauxval(AT_UID) != 0 && getauxval(AT_UID) != getauxval(AT_EUID); }

static bool is_set_group(void) { return getauxval(AT_UID) != 0 && getauxval(AT_GID) != getauxval(AT_EGID); }

bool hf_acts_for_another(void) { return is_set_user() || is_set_group(); }

bool hf_kept_is_trusted(unsigned int owner, unsigned int group) {
    // A program that is both set-user-ID and set-group-ID has made it with both rights.
    return (!is_set_user() || owner == geteuid()) && (!is_set_group() || group == getegid());
}

/// Returns 0 or the `errno`.
static int copy(int from, int to) {
    struct stat status;
    if (fstat(from, &status) != 0) {
        return errno;
    }
    off_t done = 0;
    while (done < status.st_size) {
        ssize_t count = sendfile(to, from, &done, (size_t)(status.st_size - done));
        if (count == 0) {
            return EIO;
        }
        if (count < 0 && errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

void hf_kept_await_restart(void) { hf_async_await_restart(); }

int hf_kept_thaw(int table) {
    hf_async_await_restart();
    HFKeptHeader header;
    // A forked child has its parent's table.
    if (pread(table, &header, sizeof header, 0) != sizeof header || header.pid != hf_async_process()) {
        return EPERM;
    }
    int replacement = hf_kept_create();
    if (replacement < 0) {
        return -replacement;
    }
    int error = copy(table, replacement);
    if (error == 0) {
        error = -hf_async_exchange_kept_table(table, replacement);
    }
    close(replacement);
    return error;
}
