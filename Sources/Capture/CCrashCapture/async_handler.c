// The fault handler: it captures, parks until the verdict, and acts on it.
//
// It runs on the alternate stack of the thread that faulted, with all fault signals masked, and calls only functions in files named
// async_*.c. None of those files calls this one. If the handler itself faults, the kernel ends the process at once (signal(7): a blocked
// fault signal kills), with what was captured so far in the spool.

#include "async_handler.h"
#include "async_restart.h"
#include "async_sample.h"
#include "async_scheduling.h"
#include "async_signals.h"
#include "async_spool.h"
#include "async_standby.h"
#include "async_state.h"
#include "async_syscalls.h"
#include "async_verdict.h"
#include "crash_context.h"
#include "recovery_point.h"
#include "standby_page.h"

#include <ucontext.h>

/// Of the processor's flags (Intel's manual, volume 1, 3.4.3): traps after each instruction, string instructions that go down, nested
/// tasks, and alignment checks. No function expects one of them set (System V ABI, AMD64 supplement, 3.2.1).
enum { trap_flag = 1 << 8, direction_flag = 1 << 10, nested_task = 1 << 14, alignment_check = 1 << 18 };

/// Ends alignment checks, with which this very handler may fault: the kernel leaves them on (arch/x86/kernel/signal.c).
static void end_alignment_checks(void) {
    uint64_t flags;
    __asm__ volatile("pushfq\n\tpopq %0" : "=r"(flags));
    if ((flags & alignment_check) != 0) {
        flags &= ~(uint64_t)alignment_check;
        __asm__ volatile("pushq %0\n\tpopfq" : : "r"(flags) : "cc");
    }
}

/// Sends the thread to its recovery point: sigreturn(2) then also restores its signal mask and alternate stack.
static void resume_at_recovery_point(ucontext_t *context, const HFRecord *record) {
    HFRecoveryPoint *point = hf_current_recovery_point;
    greg_t *registers = context->uc_mcontext.gregs;
    registers[REG_EFL] &= ~(greg_t)(trap_flag | direction_flag | nested_task | alignment_check);
    if ((point->flags & HF_POINT_HAS_SIGNAL_MASK) != 0) {
        __builtin_memcpy(&context->uc_sigmask, &point->stack->signal_mask, HF_KERNEL_SIGSET_SIZE);
    }
    point->stack->abandoned_at = (uintptr_t)registers[REG_RSP];
    point->stack->fault_facts = __atomic_load_n(&record->facts, __ATOMIC_ACQUIRE);
    point->stack->fault_number = record->number;
    point->stack->fault_time = record->time_unix_nanoseconds;
    registers[REG_RIP] = (greg_t)(uintptr_t)hf_recovery_landing;
    registers[REG_RSP] = (greg_t)hf_recovery_stack_pointer(point);
    registers[REG_RBP] = (greg_t)hf_recovery_frame_pointer(point);
}

/// Captures the fault and returns what is to be done about it; `*record` is NULL when there was no room for one.
static uint32_t capture(int signal, const siginfo_t *info, void *context, uint64_t deadline, HFRecord **record) {
    HFSpoolHeader *spool = hf_capture_state.configuration.spool;
    uint32_t verdict = atomic_load_explicit(&hf_capture_state.verdict_without_decision, memory_order_relaxed);
    *record = hf_async_wait_for_slot();
    bool has_room = *record != NULL;
    if (!has_room) {
        *record = hf_async_claim_last_slot();
    }
    if (*record == NULL) {
        __atomic_add_fetch(&spool->faults_lost, 1, __ATOMIC_RELAXED);
        return verdict;
    }
    atomic_fetch_add_explicit(&hf_capture_state.fault_count, 1, memory_order_relaxed);
    hf_async_fill_record(*record, spool, signal, info, context, deadline);
    if (!has_room) {
        hf_capture_add_facts(*record, HF_FACT_NO_ROOM);
    }
    HFImageList images = {
        (const HFImage *)(const void *)((const char *)spool + spool->image_offset),
        __atomic_load_n(&spool->image_count, __ATOMIC_ACQUIRE),
    };
    // Nobody can decide about a fault of the deciding thread, nor before that thread is announced.
    if (atomic_load_explicit(&hf_capture_state.decider, memory_order_acquire) == 0 ||
        ((*record)->facts & HF_FACT_CAPTURE_THREAD) != 0) {
        hf_async_walk_frame_pointers(*record, context, images);
        hf_async_keep_context(hf_async_claim_context((*record)->number));
        hf_async_complete_context((*record)->number);
        __atomic_store_n(&(*record)->verdict, verdict, __ATOMIC_RELEASE);
        return verdict;
    }
    // The deciding thread still prepares itself, which may take a lock that this thread holds: then nobody walks this stack.
    if (!hf_async_is_decider_ready()) {
        hf_async_walk_frame_pointers(*record, context, images);
    }
    return hf_async_park(*record);
}

/// Ends the process with the status that has it started again. If an order to end is not carried out yet, ends it by that signal instead.
static void leave(HFRecord *record, int32_t status) {
    int order = hf_async_due_order();
    if (order == 0) {
        HF_SYSCALL1(SYS_exit_group, status);
    }
    if (record != NULL) {
        __atomic_store_n(&record->verdict, HF_VERDICT_TERMINATE, __ATOMIC_RELEASE);
    }
    hf_async_end_by_order(order);
}

/// Ends the process by an order to end that the program has taken itself: the next process would know nothing of it.
static void end_by_own_order(HFRecord *record) {
    int order = hf_async_own_order();
    if (order == 0) {
        return;
    }
    if (record != NULL) {
        __atomic_store_n(&record->verdict, HF_VERDICT_TERMINATE, __ATOMIC_RELEASE);
    }
    hf_async_end_by_order(order);
}

/// Whether another thread was to restart the process, and has failed: the next process is scheduled as the thread that executes it, and this
/// one may not be able to take a nice value back.
static bool is_restarted_by_another(const HFRecord *record) {
    // A deciding thread that was late hangs, and one of a thread that holds the plan would wait for it.
    bool has_decided = record != NULL && (__atomic_load_n(&record->facts, __ATOMIC_ACQUIRE) & HF_FACT_DEADLINE) == 0;
    return has_decided && !hf_async_has_begun_restart() && !hf_async_schedule_as_before() && hf_async_have_decider_restart();
}

void hf_capture_restart_for_another(void) {
    hf_async_restart();
    hf_async_end_restart_for_another();
}

/// Captures the fault and acts on the verdict; returns if that is to resume. The deadline is that of a callout which was interrupted, 0 for
/// a fault.
static void judge(int signal, siginfo_t *info, void *context, uint64_t deadline) {
    HFRecord *record;
    hf_async_check_spool();
    uint32_t verdict = capture(signal, info, context, deadline, &record);
    if (verdict == HF_VERDICT_RESUME) {
        resume_at_recovery_point(context, record);
        hf_async_leave_record(record);
        return;
    }
    // The process was told to end before this thread has seen that it was to wait for a drain.
    if (verdict == HF_VERDICT_TERMINATE && hf_async_is_drained_for(record)) {
        verdict = HF_VERDICT_RESTART;
    }
    // Another process serves from now on, while this one drains.
    if (verdict == HF_VERDICT_RESTART && hf_capture_state.configuration.restart_exit_code < 0 &&
        hf_async_waits_for_drain_alone(record)) {
        hf_async_release_standby_early(record);
    }
    if (verdict == HF_VERDICT_RESTART && !hf_async_await_turn(record)) {
        if (hf_async_is_drained_for(record)) {
            hf_async_stand_still(record);
            end_by_own_order(NULL);
        } else if (record != NULL) {
            __atomic_store_n(&record->verdict, HF_VERDICT_TERMINATE, __ATOMIC_RELEASE);
        }
    } else if (verdict == HF_VERDICT_RESTART) {
        end_by_own_order(record);
        int32_t code = hf_capture_state.configuration.restart_exit_code;
        if (code >= 0) {
            leave(record, code);
        }
        if (hf_async_release_standby()) {
            hf_async_all_give_way(hf_async_way_of_end());
            leave(record, HF_STANDBY_EXIT_STATUS);
        }
        if (!is_restarted_by_another(record)) {
            hf_async_restart();
        }
        if (record != NULL) {
            __atomic_store_n(&record->verdict, HF_VERDICT_TERMINATE, __ATOMIC_RELEASE);
            hf_capture_add_facts(record, HF_FACT_RESTART_FAILED);
        }
    }
    hf_async_terminate(signal, info, context);
}

/// Whether another process sent a signal that the program ignored before capture: it is still ignored. A fault never is (signal(7)).
static bool is_ignored_order(int signal, const siginfo_t *info) {
    if (info->si_code > SI_USER || info->si_pid == (int32_t)HF_SYSCALL0(SYS_getpid)) {
        return false;
    }
    for (int i = 0; i < HF_REPORTED_SIGNAL_COUNT; i += 1) {
        if (hf_async_fault_signals[i] == signal) {
            return hf_capture_state.previous[i].sa_handler == SIG_IGN;
        }
    }
    return false;
}

void hf_async_handle_fault(int signal, siginfo_t *info, void *context) {
    end_alignment_checks();
    if (is_ignored_order(signal, info)) {
        return;
    }
    int32_t process = hf_async_process();
    bool installed = atomic_load_explicit(&hf_capture_state.installed, memory_order_acquire);
    // The spool and the restart are the parent's, and a forked child has no crash thread.
    if (installed && process != hf_capture_state.pid) {
        hf_async_record_child(signal, info, context);
    }
    if (!installed || process != hf_capture_state.pid || hf_async_is_terminating()) {
        hf_async_terminate(signal, info, context);
        return;
    }
    if (!hf_async_mend_spool(signal, info)) {
        judge(signal, info, context, 0);
    }
}

void hf_async_handle_sample(int signal, siginfo_t *info, void *context) {
    uint64_t deadline;
    if (!hf_async_answer_sample(signal, info, context, &deadline)) {
        return;
    }
    end_alignment_checks();
    // Nothing is wrong with the thread: if nobody can judge it, it goes on.
    if (atomic_load_explicit(&hf_capture_state.installed, memory_order_acquire) && !hf_async_is_terminating()) {
        judge(signal, info, context, deadline);
    }
}
