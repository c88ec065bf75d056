// Filling in a record: everything that only the faulting thread knows, in its handler.

#include "async_proc.h"
#include "async_registers.h"
#include "async_state.h"
#include "async_syscalls.h"
#include "crash_capture.h"
#include "job_state.h"
#include "recovery_point.h"
#include "thread_sampling.h"

#include <stddef.h>
#include <sys/prctl.h>
#include <time.h>
#include <ucontext.h>

/// Copies the instructions at the program counter, and what the loop says about its callout.
static void copy_place(HFRecord *record, const HFCalloutInfo *info) {
    HFCalloutInfo copy = {0};
    struct iovec remote[2] = {
        {(void *)info, sizeof copy}, {(void *)record->registers[REG_RIP], sizeof record->code_bytes}};
    struct iovec local[2] = {{&copy, sizeof copy}, {record->code_bytes, sizeof record->code_bytes}};
    size_t count = hf_async_read_pieces(remote, local, 2);
    if (count < sizeof copy) {
        if (info != NULL) {
            // The callout cannot be read, so it is not known whose policy counts.
            record->callout_kind = HF_CALLOUT_UNREADABLE;
        }
        record->code_length = (uint32_t)hf_async_read_memory(
            record->registers[REG_RIP], record->code_bytes, sizeof record->code_bytes);
        return;
    }
    record->code_length = (uint32_t)(count - sizeof copy);
    record->item = copy.item;
    record->pass = copy.pass;
    record->callout_kind = copy.kind;
    record->activity = copy.activity;
    record->nesting = copy.nesting;
    if ((copy.traits & HF_TRAIT_SHARED) != 0) {
        record->facts |= HF_FACT_SHARED_PORT;
    }
    hf_async_copy_texts(
        (HFText){record->mode, sizeof record->mode, (uint64_t)copy.mode},
        (HFText){record->label, sizeof record->label, (uint64_t)copy.label});
}

/// Notes whether a job of a task is isolated to an actor, whose lock would stay held.
static void judge_job(HFRecord *record, const HFRecoveryPoint *point) {
    HFJobState state = {0};
    if (record->callout_kind == HFCalloutKindTask &&
        (!hf_async_job_state(point->stack, &state) || state.executor[0] != 0)) {
        record->facts |= HF_FACT_ISOLATED;
    }
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
    if (hf_held_locks != point->held_locks) {
        record->facts |= HF_FACT_LOCK_HELD;
        // 0 if the callout released as many locks that it had not taken.
        int32_t more = (int32_t)((hf_held_locks - point->held_locks) << (32 - HF_LOCK_COUNT_BITS)) >> (32 - HF_LOCK_COUNT_BITS);
        record->held_locks = more > 0 ? (uint32_t)more : 0;
    }
    if (!hf_async_can_restore_runtime_state()) {
        record->facts |= HF_FACT_RUNTIME_STATE;
    }
}

/// The size of the guard of a thread's own stack. For other threads it is what the library made. For the first thread, whose stack grows,
/// it is what lies below its limit (setrlimit(2), RLIMIT_STACK: the kernel keeps 1 MiB free there, mm/mmap.c, stack_guard_gap).
enum { growth_gap = 1024 * 1024 };

static void judge_thread_stack(HFRecord *record, uint64_t stack_pointer) {
    HFThreadStack stack = hf_thread_stack;
    if (stack.high == 0) {
        return;
    }
    uintptr_t guard = stack.guard > 0 ? stack.guard : growth_gap;
    // Depending on the version of glibc, the attributes of a thread count its guard to its stack or not: look at both sides of the bound.
    bool near = record->address + guard >= stack.low && record->address < stack.low + guard;
    bool below = stack_pointer + guard >= stack.low && stack_pointer < stack.low + guard;
    record->stack_low = stack.low;
    record->stack_high = stack.high;
    if (record->signal == SIGSEGV && record->code > 0 && near && below) {
        record->facts |= HF_FACT_STACK_OVERFLOW;
    }
}

/// More than a callout has reason to touch; a damaged list may have no end.
enum { maximum_notes = 16 };

/// Copies the names of touched objects, one a line, as far as there is room.
static void copy_notes(HFRecord *record, const HFCalloutNote *first) {
    uint64_t next = (uint64_t)first;
    size_t used = 0;
    for (int i = 0; i < maximum_notes && next != 0; i += 1) {
        HFCalloutNote note;
        if (hf_async_read_memory(next, &note, sizeof note) != sizeof note) {
            return;
        }
        // Room for a line end, one byte of text, and the end of the text.
        if (used + 3 > sizeof record->touched) {
            return;
        }
        if (used > 0) {
            record->touched[used] = '\n';
            used += 1;
        }
        used += hf_async_copy_text(record->touched + used, sizeof record->touched - used, (uint64_t)note.text);
        next = (uint64_t)note.next;
    }
}

static void copy_exception(HFRecord *record) {
    // Our own thread-local text: it can be read without care.
    __builtin_memcpy(record->exception_type, hf_uncaught_exception.type, sizeof record->exception_type);
    __builtin_memcpy(record->exception_message, hf_uncaught_exception.message, sizeof record->exception_message);
}

static size_t length_of(uint64_t text) {
    char piece[256];
    size_t length = 0;
    size_t count;
    do {
        count = hf_async_copy_text(piece, sizeof piece, text + length);
        length += count;
    } while (count == sizeof piece - 1);
    return length;
}

static void copy_fatal_error(HFRecord *record) {
    // The runtime traps or aborts after its text. With another signal, a text that is there belongs to another thread, which takes it.
    bool has_text = record->signal == SIGILL || record->signal == SIGTRAP || record->signal == SIGABRT;
    if (hf_capture_state.fatal_error_message == NULL || !has_text) {
        return;
    }
    uint64_t text = (uint64_t)atomic_load_explicit(hf_capture_state.fatal_error_message, memory_order_acquire);
    if (text == 0) {
        return;
    }
    size_t length = length_of(text);
    size_t recorded = atomic_exchange_explicit(&hf_capture_state.recorded_message, length, memory_order_acq_rel);
    if (recorded < length) {
        hf_async_copy_fatal_error(record->message, sizeof record->message, (const char *)text + recorded);
    }
}

static void copy_messages(HFRecord *record) {
    copy_fatal_error(record);
    if (record->signal != SIGABRT) {
        return;
    }
    const HFAbortMessage *reason = hf_capture_state.abort_message != NULL ? *hf_capture_state.abort_message : NULL;
    if (reason != NULL &&
        atomic_exchange_explicit(&hf_capture_state.recorded_abort, reason, memory_order_acq_rel) != reason) {
        hf_async_copy_text(record->abort_message, sizeof record->abort_message, (uint64_t)reason->text);
    }
    copy_exception(record);
}

/// Says what lies at the address, or who sent the signal.
static void describe_cause(HFRecord *record) {
    if (record->code <= 0) {
        if (record->sender_pid != record->pid) {
            hf_async_name_process(record->sender_pid, record->sender_name, sizeof record->sender_name);
        }
        return;
    }
    bool is_of_memory = record->signal == SIGSEGV || record->signal == SIGBUS;
    // The first page is never mapped, and a general protection fault has no address (SI_KERNEL).
    if (is_of_memory && record->code != SI_KERNEL && record->address >= 4096 &&
        (record->facts & HF_FACT_STACK_OVERFLOW) == 0) {
        hf_async_find_mapping(record->address, &record->mapping);
    }
}

static void copy_thread(HFRecord *record) {
    record->thread = (int32_t)HF_SYSCALL0(SYS_gettid);
    if (record->thread == (int32_t)HF_SYSCALL0(SYS_getpid)) {
        record->facts |= HF_FACT_MAIN_THREAD;
    }
    if (record->thread == atomic_load_explicit(&hf_capture_state.decider, memory_order_relaxed)) {
        record->facts |= HF_FACT_CAPTURE_THREAD;
    }
    HF_SYSCALL2(SYS_prctl, PR_GET_NAME, record->thread_name);
}

/// Clears a part of a claimed slot, which still holds the fault before.
static void clear(HFRecord *record, size_t start, size_t end) {
    volatile uint64_t *words = (volatile uint64_t *)record;
    for (size_t i = start / sizeof *words; i < end / sizeof *words; i += 1) {
        words[i] = 0;
    }
}

static void copy_cause(HFRecord *record, int signal, const siginfo_t *info) {
    record->signal = signal;
    record->code = info->si_code;
    // siginfo is a union: a sender for codes up to 0, an address for the kernel's own (sigaction(2)).
    bool from_kernel = info->si_code > 0;
    record->address = from_kernel ? (uint64_t)info->si_addr : 0;
    record->sender_pid = from_kernel ? 0 : info->si_pid;
    record->sender_uid = from_kernel ? 0 : info->si_uid;
}

/// Notes that this is no fault, but a callout that takes too long. Only async_sample.c sends its signal here.
static void note_deadline(HFRecord *record, uint64_t deadline) {
    if (record->signal == HF_SAMPLE_SIGNAL) {
        record->facts |= HF_FACT_OVERDUE;
        record->callout_deadline = deadline;
    }
}

/// Notes how far the process has come, and whether the item can be recognised in the next process.
static void note_progress(HFRecord *record) {
    record->facts |= atomic_load_explicit(&hf_capture_state.process_facts, memory_order_relaxed);
    const HFStartItems *start = atomic_load_explicit(&hf_capture_state.start_items, memory_order_acquire);
    uint64_t low = 0;
    uint64_t high = start != NULL && record->item != 0 ? start->count : 0;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (start->items[middle] == record->item) {
            record->facts |= HF_FACT_START_ITEM;
            return;
        }
        if (start->items[middle] < record->item) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
}

/// Describes where the thread is, and how it could go on.
static void describe_thread(HFRecord *record, void *context, uint64_t callout_deadline) {
    hf_copy_registers(record, context);
    record->context = (uint64_t)context;
    const HFRecoveryPoint *point = hf_current_recovery_point;
    copy_place(record, point != NULL ? point->info : NULL);
    if (point != NULL) {
        judge_stack(record, point, record->registers[REG_RSP]);
        judge_job(record, point);
    }
    if (hf_run_is_in_task) {
        record->facts |= HF_FACT_TASK;
    }
    record->task = hf_async_current_task();
    note_deadline(record, callout_deadline);
}

void hf_async_outline_record(HFRecord *record, int signal, const siginfo_t *info, void *context) {
    clear(record, 0, sizeof *record);
    copy_cause(record, signal, info);
    copy_thread(record);
    describe_thread(record, context, 0);
}

void hf_async_fill_record(
    HFRecord *record, HFSpoolHeader *process, int signal, const siginfo_t *info, void *context, uint64_t callout_deadline) {
    // What a record needs most comes first: if the rest faults, that much is there.
    clear(record, offsetof(HFRecord, time_unix_nanoseconds), offsetof(HFRecord, registers));
    record->number = __atomic_add_fetch(&process->fault_count, 1, __ATOMIC_RELAXED);
    record->time_unix_nanoseconds = (int64_t)hf_async_nanoseconds(CLOCK_REALTIME);
    record->uptime_nanoseconds = (int64_t)hf_async_monotonic_nanoseconds() - process->start_monotonic_nanoseconds;
    copy_cause(record, signal, info);
    copy_thread(record);
    clear(record, offsetof(HFRecord, registers), offsetof(HFRecord, pid));
    record->pid = (int32_t)HF_SYSCALL0(SYS_getpid);
    record->held_locks = 0;
    record->tags_length = 0;
    clear(record, offsetof(HFRecord, exception_type), sizeof *record);
    describe_thread(record, context, callout_deadline);
    const HFRecoveryPoint *point = hf_current_recovery_point;
    if (point != NULL) {
        copy_notes(record, point->notes);
    } else {
        judge_thread_stack(record, record->registers[REG_RSP]);
    }
    note_progress(record);
    copy_messages(record);
    describe_cause(record);
    __atomic_store_n(&record->state, HF_SLOT_CAPTURED, __ATOMIC_RELEASE);
}
