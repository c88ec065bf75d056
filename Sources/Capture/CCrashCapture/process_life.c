// How a process begins and ends: the standard descriptors are open before main, chroot(2) first loads what is needed later, and exit(3) is
// noted. Ordinary code, called at any time.

#include "async_state.h"
#include "async_verdict.h"
#include "crash_capture.h"
#include "interposition.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// MARK: The beginning

/// Opens the standard three on /dev/null if they are closed, as glibc does for set-user-ID programs (csu/check_fds.c).
///
/// Otherwise the first descriptors that a program opens would have their numbers, among them the loop's own. The log would be written into
/// one of them, and a restart in place hands these numbers to the next process.
__attribute__((constructor)) static void open_standard_descriptors(void) {
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor += 1) {
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) {
            // open(2) takes the lowest free number, which is this one. In a container without devices nothing can be done.
            (void)open("/dev/null", O_RDWR);
        }
    }
}

// MARK: Another root

static _Atomic(void (*)(void)) before_root_changes;

void hf_capture_set_before_root_changes(void (*action)(void)) { atomic_store(&before_root_changes, action); }

/// Loads libunwind and libdw first: below another root the dynamic linker does not find them. Who changes the root by setns(2) or unshare(2)
/// in the first milliseconds does without.
int chroot(const char *path) {
    void (*action)(void) = atomic_load(&before_root_changes);
    // Not in a forked child, where another thread's locks stay held.
    if (action != NULL && hf_capture_state.pid == hf_async_process()) {
        action();
    }
    return HF_NEXT(chroot)(path);
}

// MARK: The next process

/// Whether an entry is of one of the variables, of which each ends with a NUL.
static bool is_of(const char *entry, const char *variables, size_t size) {
    for (const char *name = variables; name < variables + size; name += strlen(name) + 1) {
        size_t length = strlen(name);
        if (strncmp(entry, name, length) == 0 && entry[length] == '=') {
            return true;
        }
    }
    return false;
}

char **hf_capture_make_environment(const char *left_out, size_t left_out_size, const char *added, size_t added_size, char **last) {
    size_t count = 1;
    size_t size = added_size;
    // NULL after clearenv(3).
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        count += 1;
        size += strlen(*entry) + 1;
    }
    size_t own_count = count - 1;
    for (size_t index = 0; index < added_size; index++) {
        count += added[index] == 0;
    }
    char **list = malloc(count * sizeof *list + size);
    if (list == NULL) {
        return NULL;
    }
    char **next = list;
    char *text = (char *)(list + count);
    // Not beyond the room: another thread may change the environment, against setenv(3).
    for (char **entry = environ; entry != NULL && *entry != NULL && next < list + own_count; entry++) {
        size_t length = strlen(*entry) + 1;
        if (is_of(*entry, left_out, left_out_size) || length > size - added_size) {
            continue;
        }
        size -= length;
        *next++ = memcpy(text, *entry, length);
        text += length;
    }
    for (size_t offset = 0; offset < added_size; offset += strlen(added + offset) + 1) {
        size_t length = strlen(added + offset) + 1;
        *last = *next++ = memcpy(text, added + offset, length);
        text += length;
    }
    *next = NULL;
    return list;
}

static void *restart(void *unused) {
    (void)unused;
    hf_async_restart();
    return NULL;
}

void hf_capture_restart(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, restart, NULL) == 0) {
        pthread_join(thread, NULL);
    }
}

// MARK: The end

// After exit(3) the process ends, and no fault of its exit handlers starts it again.
//
// Functions of the executable stand before exit(3) and quick_exit(3) (ld.so(8)). When main returns, the C library calls exit without a
// symbol. Then the destructors of the main thread's thread-local variables tell, which come before the handlers of atexit(3)
// (stdlib/exit.c, __run_exit_handlers). _exit(2) needs no note: nothing of the program runs after it.

static void note_exit(void) {
    // The pid: a forked child that exits shares nothing, but a vfork(2) child does.
    atomic_store(&hf_capture_state.exiting, hf_async_process());
    // Threads that wait for a verdict meanwhile end, too.
    hf_capture_set_verdict_without_decision(HF_VERDICT_TERMINATE);
    // So do those that wait for their turn to restart the process.
    hf_async_note_turn();
}

#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

void exit(int status) {
    note_exit();
    HF_NEXT(exit)(status);
    __builtin_unreachable();
}

void quick_exit(int status) {
    note_exit();
    HF_NEXT(quick_exit)(status);
    __builtin_unreachable();
}

#endif

// The function by which C++ compilers register destructors of thread_local variables. No header declares it.
extern int __cxa_thread_atexit_impl(void (*destructor)(void *), void *object, void *library);
extern void *__dso_handle __attribute__((visibility("hidden")));

static void note_return_from_main(void *nothing) {
    (void)nothing;
    note_exit();
}

/// Constructors run on the main thread. pthread_exit(3) of the main thread does not call its destructors
/// (sysdeps/nptl/libc_start_call_main.h).
__attribute__((constructor)) static void watch_return_from_main(void) {
    __cxa_thread_atexit_impl(note_return_from_main, NULL, &__dso_handle);
}
