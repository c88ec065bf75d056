// Filling in a record: everything that only the faulting thread knows, while it stands in its handler.

#include "async_state.h"
#include "async_syscalls.h"
#include "recovery_point.h"

#include <sys/prctl.h>
#include <time.h>
#include <ucontext.h>

HFRecord *hf_async_claim_slot(void) {
    for (uint32_t i = 0; i < hf_capture_state.slot_count; i += 1) {
        HFRecord *record = &hf_capture_state.slots[i];
        uint32_t expected = HF_SLOT_FREE;
        if (__atomic_compare_exchange_n(
                &record->state, &expected, HF_SLOT_CLAIMED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            return record;
        }
    }
    return NULL;
}

static int64_t now(clockid_t clock) {
    struct timespec time = {0, 0};
    HF_SYSCALL2(SYS_clock_gettime, clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void copy_loop_state(HFRecord *record, const HFCalloutInfo *info) {
    HFCalloutInfo copy = {0};
    if (hf_async_read_memory((uint64_t)info, &copy, sizeof copy) != sizeof copy) {
        return;
    }
    record->item = copy.item;
    record->pass = copy.pass;
    record->callout_kind = copy.kind;
    record->activity = copy.activity;
    record->nesting = copy.nesting;
    hf_async_copy_text(record->mode, sizeof record->mode, (uint64_t)copy.mode);
    hf_async_copy_text(record->label, sizeof record->label, (uint64_t)copy.label);
}

static void judge_stack(HFRecord *record, const HFRecoveryPoint *point, uint64_t stack_pointer) {
    const HFCalloutStack *stack = point->stack;
    record->stack_low = stack->low;
    record->stack_high = stack->high;
    bool in_guard = stack_pointer >= stack->mapping && stack_pointer < stack->low;
    bool on_stack = stack_pointer >= stack->low && stack_pointer < stack->high;
    bool address_in_guard = record->signal == SIGSEGV && record->code > 0 && record->address >= stack->mapping &&
                            record->address < stack->low;
    if (in_guard || on_stack) {
        record->facts |= HF_FACT_RECOVERY_POINT;
    }
    if (in_guard || address_in_guard) {
        record->facts |= HF_FACT_STACK_OVERFLOW;
    }
    if (hf_critical_depth != point->critical_depth) {
        record->facts |= HF_FACT_CRITICAL_SECTION;
    }
}

void hf_async_fill_record(HFRecord *record, int signal, const siginfo_t *info, void *context) {
    const HFSpoolHeader *spool = hf_capture_state.configuration.spool;
    const ucontext_t *registers = context;
    record->number = __atomic_add_fetch(
        &hf_capture_state.configuration.spool->fault_count, 1, __ATOMIC_RELAXED);
    record->time_unix_nanoseconds = now(CLOCK_REALTIME);
    record->uptime_nanoseconds = now(CLOCK_MONOTONIC) - spool->start_monotonic_nanoseconds;
    record->signal = signal;
    record->code = info->si_code;
    // siginfo is a union: a sender for codes up to 0, an address for the kernel's own (sigaction(2)).
    bool from_kernel = info->si_code > 0;
    record->address = from_kernel ? (uint64_t)info->si_addr : 0;
    record->sender_pid = from_kernel ? 0 : info->si_pid;
    record->sender_uid = from_kernel ? 0 : info->si_uid;
    record->thread = (int32_t)HF_SYSCALL0(SYS_gettid);
    record->facts = record->thread == (int32_t)HF_SYSCALL0(SYS_getpid) ? HF_FACT_MAIN_THREAD : 0;
    if (record->thread == atomic_load_explicit(&hf_capture_state.decider, memory_order_relaxed)) {
        record->facts |= HF_FACT_CAPTURE_THREAD;
    }
    for (size_t i = 0; i < sizeof record->thread_name; i += 1) {
        record->thread_name[i] = 0;
    }
    HF_SYSCALL2(SYS_prctl, PR_GET_NAME, record->thread_name);

    record->verdict = HF_VERDICT_PENDING;
    record->frame_count = 0;
    record->head_frame_count = 0;
    record->frames_omitted = 0;
    record->reason[0] = 0;
    for (int i = 0; i < HF_REGISTER_COUNT; i += 1) {
        record->registers[i] = (uint64_t)registers->uc_mcontext.gregs[i];
    }
    record->context = (uint64_t)context;
    record->code_length = (uint32_t)hf_async_read_memory(
        record->registers[REG_RIP], record->code_bytes, sizeof record->code_bytes);

    record->stack_low = 0;
    record->stack_high = 0;
    record->item = 0;
    record->pass = 0;
    record->callout_kind = 0;
    record->activity = 0;
    record->nesting = 0;
    record->mode[0] = 0;
    record->label[0] = 0;
    const HFRecoveryPoint *point = hf_current_recovery_point;
    if (point != NULL) {
        judge_stack(record, point, record->registers[REG_RSP]);
        copy_loop_state(record, point->info);
    }
    if (hf_run_is_in_task) {
        record->facts |= HF_FACT_TASK;
    }

    record->message[0] = 0;
    if (hf_capture_state.fatal_error_message != NULL) {
        const char *text = atomic_load_explicit(hf_capture_state.fatal_error_message, memory_order_acquire);
        if (text != NULL) {
            hf_async_copy_text(record->message, sizeof record->message, (uint64_t)text);
        }
    }
    record->abort_message[0] = 0;
    if (signal == SIGABRT && hf_capture_state.abort_message != NULL && *hf_capture_state.abort_message != NULL) {
        uint64_t text = (uint64_t)(*hf_capture_state.abort_message)->text;
        hf_async_copy_text(record->abort_message, sizeof record->abort_message, text);
    }
    __atomic_store_n(&record->state, HF_SLOT_CAPTURED, __ATOMIC_RELEASE);
}
