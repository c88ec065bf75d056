// How threads are scheduled that nobody shall wait for.
//
// Three things together (Decisions.md, "Who waits for a process has the processors first"). A batch thread does not preempt others. One
// with long slices is preempted by whoever wakes and wants shorter ones (kernel/sched/fair.c, PREEMPT_SHORT, since Linux 6.12). But not by a
// thread that has had more than its share: so its own share is small, by its nice value.

#include "async_scheduling.h"
#include "async_proc.h"
#include "async_state.h"
#include "async_syscalls.h"

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>

/// The highest nice value, and the longest slice in nanoseconds (kernel/sched/syscalls.c, __setparam_fair).
enum { nicest = 19, longest_slice = 100000000 };

/// 0 stands for the calling thread. A thread of another policy is left as it is: it may be one that somebody waits for.
static void give_way(int32_t thread) {
    HFScheduling scheduling;
    if (HF_SYSCALL4(SYS_sched_getattr, thread, &scheduling, sizeof scheduling, 0) == 0 &&
        (scheduling.policy == SCHED_OTHER || scheduling.policy == SCHED_BATCH)) {
        scheduling.policy = SCHED_BATCH;
        scheduling.nice = nicest;
        scheduling.runtime = longest_slice;
        HF_SYSCALL3(SYS_sched_setattr, thread, &scheduling, 0);
    }
}

void hf_async_give_way(void) { give_way(0); }

void hf_async_all_give_way(void) {
    long list = hf_async_open(AT_FDCWD, "/proc/self/task");
    if (list < 0) {
        give_way(0);
        return;
    }
    HFFolder folder;
    hf_async_begin_entries(&folder, list);
    const char *name;
    while ((name = hf_async_next_entry(&folder)) != NULL) {
        int32_t thread = hf_async_number_of(name);
        if (thread > 0) {
            give_way(thread);
        }
    }
    HF_SYSCALL1(SYS_close, list);
}

bool hf_async_is_nice(void) {
    HFScheduling scheduling;
    return hf_capture_state.initial_scheduling.size != 0 &&
           HF_SYSCALL4(SYS_sched_getattr, 0, &scheduling, sizeof scheduling, 0) == 0 &&
           scheduling.nice > hf_capture_state.initial_scheduling.nice;
}

void hf_async_schedule_as_before(void) {
    if (hf_capture_state.initial_scheduling.size != 0) {
        HF_SYSCALL3(SYS_sched_setattr, 0, &hf_capture_state.initial_scheduling, 0);
    }
}
