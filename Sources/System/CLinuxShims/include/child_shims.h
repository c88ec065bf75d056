// Child processes: what posix_spawn(3) here cannot do, and pidfds, which the Glibc overlay lacks.

#ifndef HF_CHILD_SHIMS_H
#define HF_CHILD_SHIMS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a child begins with.
typedef struct HFChildPlan {
    /// The program; one without a slash is looked for in `PATH`.
    const char *_Nonnull path;
    char *_Nullable const *_Nonnull arguments;
    /// NULL for that of the parent.
    char *_Nullable const *_Nullable environment;
    /// Where it works; NULL for where the parent does.
    const char *_Nullable directory;
    /// What its descriptors 0, 1 and 2 are; -1 for /dev/null.
    int streams[3];
    /// Whether it leads a process group of its own.
    bool leads_group;
} HFChildPlan;

/// Starts a child with no signal blocked or ignored, and with no descriptor but the standard three: posix_spawn(3).
///
/// Returns its number, or -1 with `errno` set.
int hf_child_start(const HFChildPlan *_Nonnull plan);

/// Returns a descriptor of a process, closed on exec, readable when it has ended: pidfd_open(2). -1 with `errno` set.
int hf_pidfd_open(int pid);

/// Makes a pipe whose ends are closed on exec: pipe2(2), which the Glibc overlay lacks. Returns -1 with `errno` set.
int hf_pipe(int ends[_Nonnull 2]);

/// Sends a signal: pidfd_send_signal(2). Returns -1 with `errno` set.
int hf_pidfd_signal(int descriptor, int signal);

/// Takes the end of a child: waitid(2), P_PIDFD. Returns 1 and what it ended with, 0 while it runs, -1 with `errno` set.
///
/// `status` is its exit status, or its signal where `is_signal` is set.
int hf_pidfd_wait(int descriptor, int *_Nonnull status, bool *_Nonnull is_signal);

#ifdef __cplusplus
}
#endif

#endif
