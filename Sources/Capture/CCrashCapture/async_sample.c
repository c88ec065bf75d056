// The two sides of a sample: the thread that is asked, in its handler, and the crash thread that asks.
//
// Each has a deadline, so neither waits for ever: the handler if the crash thread died, the crash thread if a thread blocks the signal.

#include "async_sample.h"
#include "async_registers.h"
#include "async_state.h"
#include "async_syscalls.h"
#include "async_verdict.h"
#include "job_state.h"
#include "recovery_point.h"
#include "thread_sampling.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

HFSampleState hf_sample_state = {.owns_signal = true, .obstacle = HF_SAMPLING_OFF};

/// The phase of a request: the three low bits of its word. The other bits count requests, so that a thread which wakes late does not take
/// the next thread's word for its own. While a request is `answering`, its context is being written. A request that is `taken` is handled
/// like a fault.
enum { idle = 0, asked = 1, answering = 2, parked = 3, taken = 4, phase_mask = 7 };

/// One for each thread of a snapshot, and one more for a callout that takes too long.
enum { overdue_index = HF_SNAPSHOT_THREADS, request_count };

static uint32_t phase_of(uint32_t word) { return word & phase_mask; }

static uint32_t with_phase(uint32_t word, uint32_t phase) { return (word & ~(uint32_t)phase_mask) | phase; }

typedef struct Request {
    _Atomic(uint32_t) word;
    _Atomic(int32_t) thread;
    /// When the thread goes on by itself, on CLOCK_MONOTONIC.
    _Atomic(uint64_t) limit;
    char name[16];
    /// The callout of its loop. It lies on the thread's own stack, which does not change while it stands still. NULL outside of callouts.
    const HFCalloutInfo *callout;
    /// The task that is current on the thread; 0 for none.
    uint64_t task;
    /// A copy: the thread's own is gone when it goes on.
    ucontext_t context;
} Request;

static struct {
    Request requests[request_count];
    /// The record that a thread fills in if its callout takes too long.
    HFRecord interrupted;
} own;

static Request *const requests = own.requests;

/// The deadline of the callout that is interrupted, in nanoseconds.
static _Atomic(uint64_t) overdue_deadline;

/// How many threads have answered; the crash thread sleeps on it (futex(2)).
static _Atomic(uint32_t) answers;

bool hf_sample_owns_signal(void) { return atomic_load_explicit(&hf_sample_state.owns_signal, memory_order_relaxed); }

/// After install: whether our handler is still in place.
static bool is_ours(void) {
    HFKernelAction action;
    __builtin_memset(&action, 0, sizeof action);
    HF_SYSCALL4(SYS_rt_sigaction, HF_SAMPLE_SIGNAL, NULL, &action, HF_KERNEL_SIGSET_SIZE);
    return action.handler == hf_sample_state.action.handler;
}

static void set_action(const HFKernelAction *action) {
    HF_SYSCALL4(SYS_rt_sigaction, HF_SAMPLE_SIGNAL, action, 0, HF_KERNEL_SIGSET_SIZE);
}

// MARK: The thread that is asked

/// Takes the default action, the end of the process, when this handler has returned.
static void leave_to_default(int signal, const siginfo_t *info) {
    HFKernelAction action = {.handler = (uintptr_t)SIG_DFL};
    set_action(&action);
    hf_async_queue_to_self(signal, info);
}

/// The request to a thread, or NULL.
static Request *request_to(int32_t thread, uint32_t *word) {
    for (int i = 0; i < request_count; i += 1) {
        Request *request = &requests[i];
        *word = atomic_load_explicit(&request->word, memory_order_acquire);
        if (phase_of(*word) == asked &&
            atomic_load_explicit(&request->thread, memory_order_relaxed) == thread) {
            return request;
        }
    }
    return NULL;
}

/// Answers a request and stands still as long as the crash thread wants; returns whether the thread is now handled as if it had faulted.
static bool stand_still(Request *request, uint32_t word, int signal, const siginfo_t *info, void *context) {
    uint32_t standing = with_phase(word, parked);
    if (!atomic_compare_exchange_strong_explicit(
            &request->word, &word, with_phase(word, answering), memory_order_acq_rel, memory_order_relaxed)) {
        return false;
    }
    __builtin_memcpy(&request->context, context, sizeof request->context);
    HF_SYSCALL2(SYS_prctl, PR_GET_NAME, request->name);
    const HFRecoveryPoint *point = hf_current_recovery_point;
    request->callout = point != NULL ? point->info : NULL;
    request->task = hf_async_current_task();
    if (request == &requests[overdue_index]) {
        hf_async_outline_record(&own.interrupted, signal, info, &request->context);
    }
    uint64_t limit = atomic_load_explicit(&request->limit, memory_order_relaxed);
    atomic_store_explicit(&request->word, standing, memory_order_release);
    atomic_fetch_add_explicit(&answers, 1, memory_order_release);
    hf_async_wake_one(&answers);
    while (atomic_load_explicit(&request->word, memory_order_acquire) == standing) {
        if (!hf_async_sleep_while(&request->word, standing, limit)) {
            uint32_t expected = standing;
            if (atomic_compare_exchange_strong_explicit(
                    &request->word, &expected, with_phase(standing, idle), memory_order_acq_rel, memory_order_relaxed)) {
                return false;
            }
        }
    }
    uint32_t expected = with_phase(standing, taken);
    return atomic_compare_exchange_strong_explicit(
        &request->word, &expected, with_phase(standing, idle), memory_order_acq_rel, memory_order_relaxed);
}

bool hf_async_answer_sample(int signal, const siginfo_t *info, void *context, uint64_t *deadline) {
    bool is_ours = hf_async_process() == hf_capture_state.pid;
    int32_t self = (int32_t)HF_SYSCALL0(SYS_gettid);
    uint32_t word;
    // A forked child has a copy of the requests, none of which is to its thread.
    Request *request = is_ours ? request_to(self, &word) : NULL;
    if (request == NULL) {
        uint64_t value = (uint64_t)(uintptr_t)info->si_value.sival_ptr;
        if (is_ours && info->si_code == SI_QUEUE && (value >> 32 << 32) == HF_QUESTION_MARK) {
            hf_async_take_question(value);
            return false;
        }
        // If the signal came from the process itself, the request was taken back before it came.
        if (!is_ours || info->si_code != SI_TKILL || info->si_pid != hf_capture_state.pid) {
            leave_to_default(signal, info);
        }
        return false;
    }
    // One signal may stand for two requests.
    for (; request != NULL; request = request_to(self, &word)) {
        if (stand_still(request, word, signal, info, context)) {
            *deadline = atomic_load_explicit(&overdue_deadline, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

// MARK: The crash thread

uint32_t hf_async_sampling_obstacle(void) {
    if (!atomic_load_explicit(&hf_sample_state.installed, memory_order_acquire)) {
        return atomic_load_explicit(&hf_sample_state.obstacle, memory_order_relaxed);
    }
    if (!is_ours()) {
        return HF_SAMPLING_SIGNAL_TAKEN;
    }
    return hf_async_is_traced() ? HF_SAMPLING_TRACED : HF_SAMPLING_DONE;
}

static bool send(int32_t thread) {
    atomic_store_explicit(&hf_sample_state.sending, 1, memory_order_seq_cst);
    bool may = atomic_load_explicit(&hf_sample_state.suspended, memory_order_seq_cst) == 0;
    long pid = HF_SYSCALL0(SYS_getpid);
    bool sent = may && HF_SYSCALL3(SYS_tgkill, pid, thread, HF_SAMPLE_SIGNAL) == 0;
    atomic_store_explicit(&hf_sample_state.sending, 0, memory_order_seq_cst);
    hf_async_wake(&hf_sample_state.sending);
    return sent;
}

bool hf_async_ask_thread(uint32_t index, const HFThreadEntry *entry, uint64_t limit) {
    uint32_t state = entry->kernel_state;
    // A thread that has ended or is stopped (proc_pid_stat(5)) runs no handler.
    if (index >= request_count || state == 'Z' || state == 'X' || state == 'T' || state == 't') {
        return false;
    }
    Request *request = &requests[index];
    uint32_t word = atomic_load_explicit(&request->word, memory_order_acquire);
    // A thread that was asked for an earlier sample has just begun to answer.
    if (phase_of(word) != idle) {
        return false;
    }
    word = (word | phase_mask) + 1;
    atomic_store_explicit(&request->thread, entry->id, memory_order_relaxed);
    atomic_store_explicit(&request->limit, limit, memory_order_relaxed);
    atomic_store_explicit(&request->word, word | asked, memory_order_release);
    if (send(entry->id)) {
        return true;
    }
    atomic_store_explicit(&request->word, word | idle, memory_order_release);
    return false;
}

static bool is_awaited(uint32_t index) {
    uint32_t phase = phase_of(atomic_load_explicit(&requests[index].word, memory_order_acquire));
    return phase == asked || phase == answering;
}

bool hf_async_await_threads(uint32_t first, uint32_t count, uint64_t until) {
    for (;;) {
        uint32_t seen = atomic_load_explicit(&answers, memory_order_acquire);
        bool all = true;
        for (uint32_t i = first; i < first + count && i < request_count; i += 1) {
            all = all && !is_awaited(i);
        }
        if (all) {
            return true;
        }
        if (!hf_async_sleep_while(&answers, seen, until)) {
            return false;
        }
    }
}

/// Takes a request back; false when the thread stands still already.
static bool withdraw(Request *request) {
    uint32_t word = atomic_load_explicit(&request->word, memory_order_acquire);
    return phase_of(word) == asked &&
           atomic_compare_exchange_strong_explicit(
               &request->word, &word, with_phase(word, idle), memory_order_acq_rel, memory_order_relaxed);
}

void hf_async_forget_deaf_threads(uint32_t first, uint32_t count) {
    for (uint32_t i = first; i < first + count && i < request_count; i += 1) {
        if (is_awaited(i) && hf_async_is_deaf(atomic_load_explicit(&requests[i].thread, memory_order_relaxed))) {
            withdraw(&requests[i]);
        }
    }
}

ucontext_t *hf_async_begin_walk(uint32_t index, HFThreadEntry *entry) {
    if (index >= request_count || withdraw(&requests[index])) {
        return NULL;
    }
    Request *request = &requests[index];
    if (phase_of(atomic_load_explicit(&request->word, memory_order_acquire)) != parked) {
        return NULL;
    }
    entry->stack_pointer = hf_context_stack_pointer(&request->context);
    entry->frame_pointer = hf_context_frame_pointer(&request->context);
    if (entry->name[0] == 0) {
        __builtin_memcpy(entry->name, request->name, sizeof entry->name);
    }
    return &request->context;
}

uint64_t hf_async_task_of(uint32_t index) { return requests[index].task; }

void hf_async_copy_callout(uint32_t index, HFLookedCallout *callout) {
    HFCalloutInfo copy = {0};
    uint64_t source = (uint64_t)requests[index].callout;
    if (source == 0 || hf_async_read_memory(source, &copy, sizeof copy) < sizeof copy) {
        return;
    }
    callout->item = copy.item;
    callout->pass = copy.pass;
    callout->kind = copy.kind;
    callout->activity = copy.activity;
    callout->nesting = copy.nesting;
    hf_async_copy_texts(
        (HFText){callout->mode, sizeof callout->mode, (uint64_t)copy.mode},
        (HFText){callout->label, sizeof callout->label, (uint64_t)copy.label});
}

bool hf_async_end_walk(uint32_t index) {
    return phase_of(atomic_load_explicit(&requests[index].word, memory_order_acquire)) == parked;
}

void hf_async_release_thread(uint32_t index) {
    if (index >= request_count) {
        return;
    }
    Request *request = &requests[index];
    uint32_t word = atomic_load_explicit(&request->word, memory_order_acquire);
    // A thread that is still answering finds its request as it left it, and goes on at its limit.
    if (phase_of(word) == parked &&
        atomic_compare_exchange_strong_explicit(
            &request->word, &word, with_phase(word, idle), memory_order_acq_rel, memory_order_relaxed)) {
        hf_async_wake_one(&request->word);
    }
}

// MARK: A callout that takes too long

bool hf_async_is_same_callout(const HFInterruption *interruption) {
    for (int i = 0; i < HF_PROGRESS_WORDS; i += 1) {
        if (__atomic_load_n(interruption->words[i], __ATOMIC_ACQUIRE) != interruption->values[i]) {
            return false;
        }
    }
    return true;
}

/// The calls whose wrappers in the C library are on the list of FunctionRanges.waitFunctions.
bool hf_async_is_plain_system_call(int32_t number) {
    switch (number) {
    case SYS_read:
    case SYS_pread64:
    case SYS_readv:
    case SYS_preadv:
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_pwritev:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_rt_sigsuspend:
    case SYS_rt_sigtimedwait:
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
    case SYS_pause:
        return true;
    default:
        return false;
    }
}

bool hf_async_ask_overdue_thread(const HFThreadEntry *entry, uint64_t limit) {
    return hf_async_ask_thread(overdue_index, entry, limit);
}

uint32_t hf_async_overdue_index(void) { return overdue_index; }

HFRecord *hf_async_interrupted_record(void) { return &own.interrupted; }

bool hf_async_interrupt_thread(uint64_t deadline) {
    Request *request = &requests[overdue_index];
    uint32_t word = atomic_load_explicit(&request->word, memory_order_acquire);
    // Set before the thread copies it.
    atomic_store_explicit(&overdue_deadline, deadline, memory_order_relaxed);
    if (phase_of(word) != parked ||
        !atomic_compare_exchange_strong_explicit(
            &request->word, &word, with_phase(word, taken), memory_order_acq_rel, memory_order_relaxed)) {
        return false;
    }
    hf_async_wake_one(&request->word);
    return true;
}

// MARK: Around a restart

void hf_async_ask_nobody(bool nobody) {
    atomic_fetch_add_explicit(&hf_sample_state.suspended, nobody ? 1 : -1, memory_order_seq_cst);
}

void hf_async_suspend_sampling(void) {
    atomic_fetch_add_explicit(&hf_sample_state.suspended, 1, memory_order_seq_cst);
    // Sending takes microseconds: a thread that takes longer is stopped, or is this very thread.
    uint64_t until = hf_async_monotonic_nanoseconds() + 100 * 1000 * 1000;
    while (atomic_load_explicit(&hf_sample_state.sending, memory_order_seq_cst) != 0 &&
           hf_async_sleep_while(&hf_sample_state.sending, 1, until)) {
    }
    if (!atomic_load_explicit(&hf_sample_state.installed, memory_order_acquire) || !is_ours()) {
        return;
    }
    atomic_store_explicit(&hf_sample_state.taken_away, true, memory_order_relaxed);
    // Ignoring a signal discards a pending one (sigaction(2)). execve(2) keeps that, and the next process sets its handler: meanwhile others
    // may ask (HF_QUESTION_MARK), and this process would end by it.
    HFKernelAction action = {.handler = (uintptr_t)SIG_IGN};
    set_action(&action);
}

void hf_async_continue_sampling(void) {
    // Unless the program has set an action of its own since.
    if (atomic_exchange_explicit(&hf_sample_state.taken_away, false, memory_order_relaxed)) {
        set_action(&hf_sample_state.action);
    }
    atomic_fetch_sub_explicit(&hf_sample_state.suspended, 1, memory_order_seq_cst);
}
