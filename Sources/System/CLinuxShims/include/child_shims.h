// Child processes: what posix_spawn(3) cannot do from Swift, and pidfds, which the Glibc overlay lacks.

#ifndef HF_CHILD_SHIMS_H
#define HF_CHILD_SHIMS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// How a child begins.
typedef struct HFChildPlan {
    /// The program; one without a slash is searched in `PATH`.
    const char *_Nonnull path;
    char *_Nullable const *_Nonnull arguments;
    /// NULL for the parent's.
    char *_Nullable const *_Nullable environment;
    /// Its working directory; NULL for the parent's.
    const char *_Nullable directory;
    /// Its descriptors 0, 1 and 2; -1 for /dev/null.
    int streams[3];
    /// Whether it leads a process group of its own.
    bool leads_group;
} HFChildPlan;

/// Starts a child with no signal blocked or ignored, and with no descriptor but the standard three: posix_spawn(3).
///
/// Returns its pid, or -1 with `errno` set.
int hf_child_start(const HFChildPlan *_Nonnull plan);

/// Returns a descriptor of a process, closed on exec, readable when it has ended: pidfd_open(2). -1 with `errno` set.
int hf_pidfd_open(int pid);

/// Makes a pipe whose ends are closed on exec: pipe2(2), which the Glibc overlay lacks. Returns -1 with `errno` set.
int hf_pipe(int ends[_Nonnull 2]);

/// Sends a signal: pidfd_send_signal(2). Returns -1 with `errno` set.
int hf_pidfd_signal(int descriptor, int signal);

/// Reaps a child: waitid(2), P_PIDFD. Returns 1 if it has ended, 0 while it runs, -1 with `errno` set.
///
/// `status` is its exit status, or its signal if `is_signal` is set.
int hf_pidfd_wait(int descriptor, int *_Nonnull status, bool *_Nonnull is_signal);

#ifdef __cplusplus
}
#endif

#endif
