// What a supervisor does with its children: starting them, waiting for all of them, and signals as a descriptor. The Glibc overlay lacks
// most of it, and posix_spawn(3) the rest.

#ifndef HF_SUPERVISE_SHIMS_H
#define HF_SUPERVISE_SHIMS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma clang assume_nonnull begin

/// LISTEN_PID, WATCHDOG_PID and HOLDFAST_STANDBY_PID.
#define HF_OWN_NUMBERS 3

/// How a program begins.
typedef struct HFProgramPlan {
    /// The file; it is not looked for in `PATH`.
    const char *path;
    char *_Nullable const *_Nonnull arguments;
    char *_Nullable const *_Nonnull environment;
    /// Where in `environment` its own number is to be written, ten bytes that end the text; NULL for nowhere.
    char *_Nullable own_number[HF_OWN_NUMBERS];
    /// Its working directory; NULL for the parent's.
    const char *_Nullable directory;
    /// Its descriptors from 0 on. Those of the parent that are not among them are closed.
    const int *descriptors;
    uint32_t descriptor_count;
    /// The terminal whose foreground it becomes; -1 for none.
    int terminal;
    /// What it gets when its parent ends: PR_SET_PDEATHSIG of prctl(2). 0 for nothing.
    int death_signal;
} HFProgramPlan;

/// What a program failed at before it was one.
enum {
    HFStartStageGroup = 1,
    HFStartStageParent = 2,
    HFStartStageDirectory = 3,
    HFStartStageDescriptors = 4,
    HFStartStageExec = 5,
};

/// Where and why it failed: what comes out of the pipe of hf_program_start().
typedef struct HFStartFailure {
    int32_t stage;
    int32_t error;
} HFStartFailure;

/// Starts a program in a process group of its own, with no signal blocked or ignored. Does not wait until it runs.
///
/// Returns its pid, or -1 with `errno` set. `outcome` is the end of a pipe, closed on exec, which gets an `HFStartFailure` if the program does not
/// begin, and ends without one when it does.
int hf_program_start(const HFProgramPlan *plan, int *outcome);

/// What became of a child.
typedef struct HFChildEvent {
    int32_t pid;
    /// As siginfo_t has them: CLD_EXITED, CLD_KILLED, CLD_DUMPED, CLD_STOPPED, CLD_CONTINUED; a status or a signal.
    int32_t code;
    int32_t status;
    uint32_t user;
    /// What it used, with those of its own children that it has waited for; only of one that was reaped.
    int64_t user_microseconds;
    int64_t system_microseconds;
    int64_t peak_kilobytes;
    int64_t major_faults;
} HFChildEvent;

/// Looks for a child of which there is something to tell, and leaves it as it is: waitid(2), WNOWAIT.
///
/// Returns 1 if there is one, 0 if there is none, -1 with `errno` set; ECHILD if there are no children at all.
int hf_child_look(HFChildEvent *event);

/// Takes the end of a child, and that it was stopped or goes on. Returns as hf_child_look() does.
int hf_child_take(int pid, HFChildEvent *event);

/// Takes that a child was stopped or goes on; its end is left. Returns as hf_child_look() does.
int hf_child_take_stop(int pid, HFChildEvent *event);

/// Has the children of children that end before become this process's: PR_SET_CHILD_SUBREAPER of prctl(2).
int hf_become_subreaper(void);

/// Blocks all signals, and returns a descriptor that tells of them: signalfd(2).
int hf_signals_take(void);

/// A signal that came.
typedef struct HFSignal {
    int32_t number;
    int32_t code;
    int32_t sender;
    uint32_t user;
} HFSignal;

/// Takes the next signal. Returns 1, or 0 if there is none.
int hf_signalfd_next(int descriptor, HFSignal *signal);

/// Marks all descriptors from a number on as closed on exec: close_range(2). Returns -1 with `errno` set where the kernel cannot.
int hf_close_on_exec_from(int first);

/// Makes a page of memory that processes can share: memfd_create(2). Returns a descriptor, closed on exec, or -1 with `errno` set.
int hf_shared_page_make(void);

/// Maps such a page; NULL if the descriptor is of none.
void *_Nullable hf_shared_page_map(int descriptor);

/// Ends the mapping of a page.
void hf_shared_page_unmap(void *_Nonnull page);

/// Makes a group of processes the foreground of a terminal, also from the background: tcsetpgrp(3), with SIGTTOU blocked.
int hf_terminal_take(int terminal, int group);

#pragma clang assume_nonnull end

#ifdef __cplusplus
}
#endif

#endif
