// The fault handler: capture, park until the verdict, act on it.
//
// It runs on the alternate stack of the thread that faulted, with all fault signals masked, and calls nothing but functions
// in files named async_*.c. A fault of the handler itself is therefore ended by the kernel at once (signal(7): a fault
// signal that is blocked kills), with what was captured so far in the spool.

#include "async_handler.h"
#include "async_state.h"
#include "async_syscalls.h"
#include "recovery_point.h"

#include <linux/futex.h>
#include <time.h>
#include <ucontext.h>

const int hf_async_fault_signals[HF_FAULT_SIGNAL_COUNT] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};

HFCaptureState hf_capture_state;

/// Sends the thread to its recovery point: sigreturn(2) then also restores its signal mask and alternate stack.
static void resume_at_recovery_point(ucontext_t *context) {
    HFRecoveryPoint *point = hf_current_recovery_point;
    greg_t *registers = context->uc_mcontext.gregs;
    point->stack->abandoned_at = (uintptr_t)registers[REG_RSP];
    registers[REG_RIP] = (greg_t)(uintptr_t)hf_recovery_landing;
    registers[REG_RSP] = (greg_t)point->stack_pointer;
    registers[REG_RBP] = (greg_t)point->frame_pointer;
}

/// Parks the thread until there is a verdict. After the deadline the verdict is ours: a lock that the deciding thread needs
/// is held, possibly by this very thread.
static uint32_t wait_for_verdict(HFRecord *record) {
    atomic_fetch_add_explicit(&hf_capture_state.pending, 1, memory_order_release);
    HF_SYSCALL3(SYS_futex, &hf_capture_state.pending, FUTEX_WAKE_PRIVATE, 1);

    struct timespec until;
    HF_SYSCALL2(SYS_clock_gettime, CLOCK_MONOTONIC, &until);
    uint64_t nanoseconds = (uint64_t)until.tv_nsec + hf_capture_state.configuration.deadline_nanoseconds;
    until.tv_sec += (time_t)(nanoseconds / 1000000000);
    until.tv_nsec = (long)(nanoseconds % 1000000000);
    for (;;) {
        uint32_t verdict = __atomic_load_n(&record->verdict, __ATOMIC_ACQUIRE);
        if (verdict != HF_VERDICT_PENDING) {
            return verdict;
        }
        // FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC time, so interruptions do not move the deadline (futex(2)).
        long result = HF_SYSCALL6(
            SYS_futex, &record->verdict, FUTEX_WAIT_BITSET, HF_VERDICT_PENDING, &until, 0, FUTEX_BITSET_MATCH_ANY);
        if (result == -ETIMEDOUT) {
            break;
        }
    }
    uint32_t expected = HF_VERDICT_PENDING;
    uint32_t verdict = hf_capture_state.configuration.verdict_at_deadline;
    if (!__atomic_compare_exchange_n(
            &record->verdict, &expected, verdict, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return expected;
    }
    hf_capture_add_facts(record, HF_FACT_DEADLINE);
    return verdict;
}

/// How long a fault waits for a slot when all are taken: the report writer frees one every few milliseconds.
enum { slot_wait_nanoseconds = 10 * 1000 * 1000, slot_wait_rounds = 100 };

static HFRecord *wait_for_slot(void) {
    for (int i = 0; i < slot_wait_rounds; i += 1) {
        HFRecord *record = hf_async_claim_slot();
        if (record != NULL) {
            return record;
        }
        struct timespec pause = {.tv_sec = 0, .tv_nsec = slot_wait_nanoseconds};
        HF_SYSCALL2(SYS_nanosleep, &pause, 0);
    }
    return NULL;
}

void hf_async_handle_fault(int signal, siginfo_t *info, void *context) {
    int32_t pid = (int32_t)HF_SYSCALL0(SYS_getpid);
    // A forked child has no crash thread, and neither the spool nor the restart is its own.
    if (pid != hf_capture_state.pid ||
        !atomic_load_explicit(&hf_capture_state.installed, memory_order_acquire) ||
        atomic_load_explicit(&hf_capture_state.terminating, memory_order_acquire) == pid) {
        hf_async_terminate(signal, info, context);
        return;
    }
    uint32_t verdict = hf_capture_state.configuration.verdict_at_deadline;
    HFRecord *record = wait_for_slot();
    if (record == NULL) {
        __atomic_add_fetch(&hf_capture_state.configuration.spool->faults_lost, 1, __ATOMIC_RELAXED);
    } else {
        hf_async_fill_record(record, signal, info, context);
        // Nobody decides for the deciding thread, nor before there is one.
        bool decidable = atomic_load_explicit(&hf_capture_state.decider, memory_order_acquire) != 0 &&
                         (record->facts & HF_FACT_CAPTURE_THREAD) == 0;
        if (decidable) {
            verdict = wait_for_verdict(record);
        } else {
            __atomic_store_n(&record->verdict, verdict, __ATOMIC_RELEASE);
        }
    }
    switch (verdict) {
    case HF_VERDICT_RESUME:
        resume_at_recovery_point(context);
        return;
    case HF_VERDICT_RESTART:
        hf_async_restart();
        if (record != NULL) {
            __atomic_store_n(&record->verdict, HF_VERDICT_TERMINATE, __ATOMIC_RELEASE);
            hf_capture_add_facts(record, HF_FACT_RESTART_FAILED);
        }
        break;
    default:
        break;
    }
    hf_async_terminate(signal, info, context);
}
