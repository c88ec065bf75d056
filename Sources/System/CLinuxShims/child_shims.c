// Child processes. child_shims.h says why each is here.

#include "child_shims.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

// The streams are first duplicated above the standard three: the number of one may be the target of another.
static int add_streams(posix_spawn_file_actions_t *actions, const int streams[3], int copies[3]) {
    for (int number = 0; number < 3; number++) {
        int error;
        if (streams[number] < 0) {
            error = posix_spawn_file_actions_addopen(actions, number, "/dev/null", O_RDWR, 0);
        } else {
            copies[number] = fcntl(streams[number], F_DUPFD_CLOEXEC, 3);
            if (copies[number] < 0) return errno;
            error = posix_spawn_file_actions_adddup2(actions, copies[number], number);
        }
        if (error != 0) return error;
    }
    return posix_spawn_file_actions_addclosefrom_np(actions, 3);
}

static int set_attributes(posix_spawnattr_t *attributes, bool leads_group) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (leads_group ? POSIX_SPAWN_SETPGROUP : 0);
    int error = posix_spawnattr_setflags(attributes, flags);
    if (error == 0) error = posix_spawnattr_setsigmask(attributes, &none);
    if (error == 0) error = posix_spawnattr_setsigdefault(attributes, &all);
    if (error == 0) error = posix_spawnattr_setpgroup(attributes, 0);
    return error;
}

int hf_child_start(const HFChildPlan *plan) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int copies[3] = {-1, -1, -1};
    pid_t pid = -1;
    int error = posix_spawn_file_actions_init(&actions);
    if (error == 0) {
        error = posix_spawnattr_init(&attributes);
        if (error == 0) {
            error = set_attributes(&attributes, plan->leads_group);
            if (error == 0) error = add_streams(&actions, plan->streams, copies);
            if (error == 0 && plan->directory) error = posix_spawn_file_actions_addchdir_np(&actions, plan->directory);
            if (error == 0) {
                error = posix_spawnp(&pid, plan->path, &actions, &attributes, plan->arguments,
                                     plan->environment ? plan->environment : environ);
            }
            posix_spawnattr_destroy(&attributes);
        }
        posix_spawn_file_actions_destroy(&actions);
    }
    for (int number = 0; number < 3; number++) {
        if (copies[number] >= 0) close(copies[number]);
    }
    errno = error;
    return error == 0 ? pid : -1;
}

int hf_pidfd_open(int pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

int hf_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int hf_pidfd_signal(int descriptor, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, descriptor, signal, NULL, 0);
}

int hf_pidfd_wait(int descriptor, int *status, bool *is_signal) {
    siginfo_t info = {0};
    if (waitid(P_PIDFD, (id_t)descriptor, &info, WEXITED | WNOHANG) != 0) return -1;
    if (info.si_pid == 0) return 0;
    *status = info.si_status;
    *is_signal = info.si_code != CLD_EXITED;
    return 1;
}
