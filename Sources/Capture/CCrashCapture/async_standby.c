// Another process that waits to serve in the place of this one. It is told here, and not by this one's end: the kernel tears the memory of
// a process down before it tells the parent, which takes 5 ms with 60 MiB and 34 ms with 500.

#include "async_standby.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "async_kept.h"
#include "async_restart.h"
#include "async_signals.h"
#include "async_state.h"
#include "async_syscalls.h"
#include "async_verdict.h"
#include "crash_capture.h"
#include "kept_table.h"
#include "standby_page.h"

static _Atomic(HFStandbyPage *) standby_page;
static _Atomic(int) standby_event = -1;
static _Atomic(bool) keeps_something;
/// The socket to the process that stands by, below its serial number; 0 for none.
static _Atomic(uint64_t) standby_link;

/// How long another process may take for what is kept: this one serves nobody meanwhile.
static const uint64_t patience = 2000000000;

void hf_capture_set_standby(void *page, int event, bool keeps) {
    atomic_store(&keeps_something, keeps);
    atomic_store(&standby_event, event);
    atomic_store(&standby_page, (HFStandbyPage *)page);
}

void hf_capture_set_standby_link(int socket, uint32_t serial) {
    // A hand-over that is under way has the former one.
    bool is_free = hf_async_begin_restart();
    atomic_store(&standby_link, (uint64_t)serial << 32 | (uint32_t)socket);
    hf_async_finish_restart(is_free);
}

/// Whether this process has told another to serve: whoever ends it then, leaves.
static _Atomic(bool) has_released;

static void tell(void) {
    // If this fails, the supervisor does it when this process has ended.
    uint64_t one = 1;
    HF_SYSCALL3(SYS_write, atomic_load(&standby_event), &one, sizeof one);
}

/// The word of the page when this process began to serve: it may have been released itself, and the supervisor not know yet.
static _Atomic(uint32_t) own_release;

void hf_capture_note_own_release(const void *page) {
    atomic_store(&own_release, hf_standby_word(page));
}

/// For a process that keeps nothing.
static bool release(void) {
    HFStandbyPage *page = atomic_load(&standby_page);
    if (page == NULL) {
        return false;
    }
    if (hf_standby_claim(page, 0)) {
        atomic_store(&has_released, true);
        tell();
        return true;
    }
    // Another thread may have done so a moment ago: nobody else does while this process lives.
    uint32_t word = hf_standby_word(page);
    return atomic_load(&has_released) || (hf_standby_state(word) == HF_STANDBY_RELEASED && word != atomic_load(&own_release));
}

/// What was handed over, and is not answered yet. Written by the thread that has begun a restart.
static struct {
    _Atomic(bool) is_open;
    int socket;
    uint32_t serial;
    uint64_t deadline;
} question;

/// Takes a hand-over back that has come to nothing: all is as before.
static void take_back(void) {
    // In this order: whoever hears of the other process's next link finds it forgone.
    hf_standby_forgo(atomic_load(&standby_page), question.serial);
    // One that lives sees that nothing more comes, and drops what it has.
    HF_SYSCALL2(SYS_shutdown, question.socket, SHUT_RDWR);
}

/// Hands over what is kept; returns whether the other process was told.
static bool hand_over(void) {
    HFStandbyPage *page = atomic_load(&standby_page);
    const HFRestartPlan *plan = hf_async_restart_plan();
    uint64_t link = atomic_load(&standby_link);
    question.serial = (uint32_t)(link >> 32);
    question.socket = (int)(uint32_t)link;
    question.deadline = hf_async_monotonic_nanoseconds() + patience;
    if (page == NULL || plan == NULL || question.serial == 0 || !hf_standby_claim(page, question.serial)) {
        return false;
    }
    hf_async_freeze_kept_table(plan->kept_table);
    if (!hf_async_send_kept(question.socket, plan->kept_table, question.deadline)) {
        take_back();
        return false;
    }
    atomic_store(&question.is_open, true);
    atomic_store(&has_released, true);
    tell();
    return true;
}

/// Waits for the answer to a hand-over: until then the other process may end, and what it was sent with it.
static bool is_answered(void) {
    if (atomic_load(&question.is_open)) {
        atomic_store(&question.is_open, false);
        if (!hf_async_kept_was_taken(question.socket, question.deadline)) {
            atomic_store(&has_released, false);
            take_back();
        }
    }
    return atomic_load(&has_released);
}

typedef enum Moment { before_end, at_end, in_handler_at_end } Moment;

/// Like a restart in place (hf_async_restart), of which only one goes on at a time, and which the handler of an observed signal waits for.
static bool hand_over_alone(Moment moment) {
    bool is_free = hf_async_begin_restart();
    if (!is_free && hf_async_is_restarting()) {
        return false;
    }
    uint64_t observed = atomic_load_explicit(&hf_signal_state.observed, memory_order_relaxed);
    uint64_t before = 0;
    HF_SYSCALL4(SYS_rt_sigprocmask, SIG_BLOCK, &observed, &before, HF_KERNEL_SIGSET_SIZE);
    // Whoever changes what is kept from now on waits until this process has ended, or goes on (hf_kept_thaw).
    hf_async_set_restarting(true);
    bool is_done = (atomic_load(&has_released) || hand_over()) && (moment == before_end || is_answered());
    if (!is_done || moment != in_handler_at_end) {
        hf_async_set_restarting(false);
        hf_async_finish_restart(is_free);
        HF_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, HF_KERNEL_SIGSET_SIZE);
    }
    return is_done;
}

static bool release_at_end(Moment moment) {
    if (atomic_load(&keeps_something) || atomic_load(&question.is_open)) {
        return hand_over_alone(moment);
    }
    return atomic_load(&has_released) || release();
}

/// Whether nobody changes what is kept until this process ends: the thread that does has faulted, and nothing drains.
static bool is_at_rest(const HFRecord *record) {
    uint32_t facts = __atomic_load_n(&record->facts, __ATOMIC_ACQUIRE);
    return (facts & HF_FACT_MAIN_THREAD) != 0 && (facts & HF_FACT_DRAINED) == 0;
}

bool hf_async_release_standby(void) { return release_at_end(in_handler_at_end); }

bool hf_async_release_standby_early(const HFRecord *record) {
    if (!atomic_load(&keeps_something)) {
        return atomic_load(&has_released) || release();
    }
    return record != NULL && is_at_rest(record) && hand_over_alone(before_end);
}

bool hf_capture_release_standby(void) { return release_at_end(at_end); }

bool hf_capture_release_standby_for(uint32_t slot) {
    const HFRecord *record = &hf_capture_state.slots[slot];
    bool was_released = atomic_load(&has_released);
    if (hf_capture_state.configuration.restart_exit_code >= 0 || !hf_async_waits_for_drain_alone(record) ||
        !hf_async_release_standby_early(record)) {
        return false;
    }
    if (was_released) {
        return true;
    }
    // The process that was told may have been put on this processor, although another one is idle (in a virtual machine, kernel/sched,
    // vcpu_is_preempted): it would wait 0.3 ms for this thread.
    HF_SYSCALL0(SYS_sched_yield);
    return true;
}
