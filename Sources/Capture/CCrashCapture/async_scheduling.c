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

/// A tenth of the share of others. With less, what the process has open would stay open for long on a busy machine: sockets are closed after
/// the memory is freed (kernel/exit.c, do_exit).
enum { nice_share = 10 };
/// In nanoseconds (kernel/sched/syscalls.c, __setparam_fair).
static const uint64_t longest_slice = 100000000;
/// In pages.
static const uint64_t small_memory = (128 << 20) / 4096;

/// By proc(5), statm: its size and what of it is resident, in pages.
bool hf_async_is_memory_small(void) {
    char text[64];
    const char *next = text;
    uint64_t size;
    uint64_t resident;
    return hf_async_read_text(hf_async_open(AT_FDCWD, "/proc/self/statm"), text, sizeof text) > 0 &&
           hf_async_read_number(&next, &size) && hf_async_read_number(&next, &resident) && resident <= small_memory;
}

/// 0 stands for the calling thread. A thread of another policy is left as it is: it may be one that somebody waits for.
static void give_way(int32_t thread, HFWay way) {
    HFScheduling scheduling;
    if (HF_SYSCALL4(SYS_sched_getattr, thread, &scheduling, sizeof scheduling, 0) != 0 ||
        (scheduling.policy != SCHED_OTHER && scheduling.policy != SCHED_BATCH)) {
        return;
    }
    scheduling.policy = SCHED_BATCH;
    if (way != HF_WAY_AT_WAKE) {
        scheduling.runtime = longest_slice;
    }
    if (way == HF_WAY_WITH_SHARE && scheduling.nice < nice_share) {
        scheduling.nice = nice_share;
    }
    HF_SYSCALL3(SYS_sched_setattr, thread, &scheduling, 0);
}

void hf_async_give_way(HFWay way) { give_way(0, way); }

HFWay hf_async_way_of_end(void) { return hf_async_is_memory_small() ? HF_WAY_WITH_SHARE : HF_WAY_AT_ONCE; }

void hf_async_all_give_way(HFWay way) {
    give_way(0, way);
    long list = hf_async_open(AT_FDCWD, "/proc/self/task");
    if (list < 0) {
        return;
    }
    long process = HF_SYSCALL0(SYS_getpid);
    HFFolder folder;
    hf_async_begin_entries(&folder, list);
    const char *name;
    while ((name = hf_async_next_entry(&folder)) != NULL) {
        int32_t thread = hf_async_number_of(name);
        // Where proc(5) is that of another namespace, the numbers are those of others.
        if (thread > 0 && HF_SYSCALL3(SYS_tgkill, process, thread, 0) == 0) {
            give_way(thread, way);
        }
    }
    HF_SYSCALL1(SYS_close, list);
}

bool hf_async_schedule_as_before(void) {
    HFScheduling scheduling = hf_capture_state.initial_scheduling;
    if (scheduling.size == 0 || HF_SYSCALL3(SYS_sched_setattr, 0, &scheduling, 0) == 0) {
        return true;
    }
    HFScheduling now;
    if (HF_SYSCALL4(SYS_sched_getattr, 0, &now, sizeof now, 0) == 0) {
        scheduling.nice = now.nice;
        HF_SYSCALL3(SYS_sched_setattr, 0, &scheduling, 0);
    }
    return false;
}
