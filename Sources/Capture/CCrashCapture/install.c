// Installing the handlers and removing them. Ordinary code: nothing here runs in a crashed context.

#include "async_handler.h"
#include "async_sample.h"
#include "async_spool.h"
#include "async_state.h"
#include "async_verdict.h"
#include "crash_context.h"
#include "recovery_point.h"

#include "package_end.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// Not public ABI of the Swift runtime. Weak, so that the program links with a runtime that lacks them.
extern _Atomic(const char *) *swift_getFatalErrorMessageBuffer(void) __attribute__((weak));

/// Finds what handlers read, and calls what they call: a lazy binding inside a handler would take the loader's lock.
static void resolve_runtime(void) {
    if (swift_getFatalErrorMessageBuffer != NULL) {
        hf_capture_state.fatal_error_message = swift_getFatalErrorMessageBuffer();
    }
    hf_capture_state.abort_message = dlsym(RTLD_DEFAULT, "__abort_msg");
    // The compiler may turn loops into calls of these functions.
    char from[64] = {0};
    char to[64];
    void *(*volatile copy)(void *, const void *, size_t) = memcpy;
    void *(*volatile fill)(void *, int, size_t) = memset;
    copy(to, from, sizeof to);
    fill(to, 1, sizeof to);
    // The linker must not leave it out.
    hf_package_end();
}

static void signal_set(sigset_t *set, int count) {
    sigemptyset(set);
    for (int i = 0; i < count; i += 1) {
        sigaddset(set, hf_async_fault_signals[i]);
    }
}

/// Whether the capture handles a signal: always if its default action would end the program, and always if it is a fault's.
///
/// A program with a handler for SIGSYS answers system calls by it. A program that handles or ignores the signal of a limit goes on.
static bool is_captured(int signal, const struct sigaction *before) {
    switch (signal) {
    case SIGSYS:
        // A SIGSYS that the kernel raises ends the process even if it is ignored (kernel/signal.c, force_sig_info_to_task).
        return before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN;
    case SIGXCPU:
    case SIGXFSZ:
        return before->sa_handler == SIG_DFL;
    default:
        return true;
    }
}

/// Installs the handler, unless the former action is to stay. Returns 0 or the `errno`.
static int capture_signal(int i, const struct sigaction *action) {
    int signal = hf_async_fault_signals[i];
    struct sigaction *previous = &hf_capture_state.previous[i];
    if (sigaction(signal, NULL, previous) != 0) {
        return errno;
    }
    return !is_captured(signal, previous) || sigaction(signal, action, NULL) == 0 ? 0 : errno;
}

/// Removes the handler, unless it is not ours any more.
static void give_back(int i) {
    struct sigaction current;
    int signal = hf_async_fault_signals[i];
    if (sigaction(signal, NULL, &current) == 0 && current.sa_sigaction == hf_async_handle_fault) {
        sigaction(signal, &hf_capture_state.previous[i], NULL);
    }
}

/// Whether exit(3) is how the process is meant to end.
static _Atomic(bool) expects_exit;

void hf_capture_expect_exit(void) { atomic_store(&expects_exit, true); }

/// Notes that the process called exit(3), so that it does not count as one that vanished.
static void note_exit(void) {
    uint32_t expected = HF_END_NONE;
    if (hf_capture_state.pid == hf_async_process() && atomic_load(&hf_capture_state.installed)) {
        __atomic_compare_exchange_n(
            &hf_capture_state.configuration.spool->end, &expected, atomic_load(&expects_exit) ? HF_END_CLOSED : HF_END_EXIT,
            false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
}

/// Makes the page by which a forked child recognises that it is one. Done once.
static void mark_process(void) {
    if (hf_capture_state.is_ours != NULL) {
        return;
    }
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    _Atomic(bool) *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return;
    }
    atomic_init(page, true);
    // Since Linux 4.14.
    if (madvise((void *)page, size, MADV_WIPEONFORK) == 0) {
        hf_capture_state.is_ours = page;
    } else {
        munmap((void *)page, size);
    }
}

static void begin_in_child(void) {
    hf_after_fork_in_child();
    // The context lies in the spool file, which is not the child's.
    hf_context_forget();
    if (hf_capture_state.configuration.spool_descriptor >= 0) {
        close(hf_capture_state.configuration.spool_descriptor);
        // A grandchild must not close the descriptor that has its number by then.
        hf_capture_state.configuration.spool_descriptor = -1;
    }
    if (hf_capture_state.fork_mirror != NULL) {
        hf_capture_state.fork_mirror->header.fault_count = 0;
        atomic_store(&hf_capture_state.fork_mirror->child, (int32_t)getpid());
    }
}

/// fork(3) calls this before the system call; vfork(2), posix_spawn(3) and clone(2) do not, and their children leave no records.
static void prepare_for_fork(void) {
    // A child must not inherit the mapping (madvise(2), MADV_DONTFORK): it would hold the file open, and with it the lock. Registered once,
    // because an install may be repeated (hf_capture_withdraw).
    static bool is_registered;
    if (!is_registered) {
        is_registered = true;
        pthread_atfork(hf_before_fork, hf_after_fork, begin_in_child);
    }
}

int hf_capture_install(const HFCaptureConfiguration *configuration) {
    // Once per process: the first crash thread never ends.
    if (hf_capture_state.pid != 0) {
        return EALREADY;
    }
    mark_process();
    hf_capture_state.pid = hf_async_process();
    HFSpoolHeader *spool = configuration->spool;
    hf_capture_state.configuration = *configuration;
    hf_capture_state.slots = (HFRecord *)((char *)spool + spool->slot_offset);
    hf_capture_state.slot_count = spool->slot_count;
    atomic_store(&hf_capture_state.verdict_without_decision, configuration->verdict_at_deadline);
    atomic_store(&hf_capture_state.fault_count, 0);
    hf_async_note_spool();
    resolve_runtime();
    hf_context_install(spool);
    // The crash thread lists them again, with what it loads itself. A fault before that, or a child, has these.
    hf_loaded_images_snapshot(spool, NULL, spool->image_capacity);
    hf_make_spool_copy();
    prepare_for_fork();
    // Opened now, because a process that faults may have no descriptor left, or no proc(5).
    hf_async_exchange_memory_file(open("/proc/self/mem", O_RDONLY | O_CLOEXEC));

    sigset_t mask;
    sigset_t faults;
    signal_set(&faults, HF_FAULT_SIGNAL_COUNT);
    pthread_sigmask(SIG_UNBLOCK, &faults, &mask);
    memcpy(&hf_capture_state.initial_mask, &mask, HF_KERNEL_SIGSET_SIZE);
    hf_capture_state.initial_mask &= ~configuration->held_signals;
    for (int i = 0; i < HF_FAULT_SIGNAL_COUNT; i += 1) {
        // A restarted process must not begin with a fault signal blocked.
        hf_capture_state.initial_mask &= ~(1ULL << (hf_async_fault_signals[i] - 1));
    }

    HFScheduling *scheduling = &hf_capture_state.initial_scheduling;
    if (syscall(SYS_sched_getattr, getpid(), scheduling, sizeof *scheduling, 0) != 0) {
        scheduling->size = 0;
    }
    prctl(PR_GET_PDEATHSIG, &hf_capture_state.parent_death_signal);

    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = hf_async_handle_fault;
    // SA_ONSTACK: after a stack overflow there is no other stack to run on. Not SA_NODEFER: a handler that faults would start again at the
    // top of the alternate stack for ever.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    signal_set(&action.sa_mask, HF_REPORTED_SIGNAL_COUNT);
    for (int i = 0; i < HF_REPORTED_SIGNAL_COUNT; i += 1) {
        int error = capture_signal(i, &action);
        if (error != 0) {
            while (i > 0) {
                i -= 1;
                give_back(i);
            }
            return error;
        }
    }
    atexit(note_exit);
    hf_capture_observe_terminate();
    atomic_store(&hf_capture_state.installed, true);
    return 0;
}

void hf_capture_uninstall(void) {
    if (!atomic_exchange(&hf_capture_state.installed, false)) {
        return;
    }
    hf_capture_stop_observing_terminate();
    for (int i = 0; i < HF_REPORTED_SIGNAL_COUNT; i += 1) {
        give_back(i);
    }
    __atomic_store_n(&hf_capture_state.configuration.spool->end, HF_END_CLOSED, __ATOMIC_RELAXED);
}

static void close_if_open(int descriptor) {
    if (descriptor >= 0) {
        close(descriptor);
    }
}

void hf_capture_withdraw(void) {
    hf_capture_uninstall();
    hf_async_withdraw_decider(true);
    while (hf_capture_has_decider()) {
        sched_yield();
    }
    // Nobody reads them any more: the thread that walked stacks and looked at threads has ended.
    close_if_open(hf_capture_state.configuration.spool_descriptor);
    hf_capture_state.configuration.spool_descriptor = -1;
    close_if_open(hf_async_exchange_memory_file(-1));
    close_if_open(hf_async_exchange_thread_list(-1));
    hf_async_withdraw_decider(false);
    hf_capture_state.pid = 0;
}

void hf_capture_clear_messages(void) {
    if (hf_capture_state.fatal_error_message == NULL) {
        return;
    }
    // Before and after: if another thread faults meanwhile, its text is rather recorded twice than not at all.
    atomic_store(&hf_capture_state.recorded_message, 0);
    // The text itself stays: another thread may be copying it to append its own, without a lock (swift/stdlib/public/runtime/Errors.cpp,
    // reportOnCrash), and nobody can tell. It is small beside the frames that each resumed fault leaves.
    atomic_store(hf_capture_state.fatal_error_message, NULL);
    atomic_store(&hf_capture_state.recorded_message, 0);
    // glibc's text is not touched, either: the next abort unmaps it (assert/assert.c: __assert_fail_base). It is only noted that the text
    // is already in a record (recorded_abort). The next text is mapped before this one goes, so it lies elsewhere.
}
