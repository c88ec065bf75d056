// How a process begins and ends: the standard descriptors are open before main, and exit(3) is noted. Ordinary code, called at any time.

#include "async_state.h"
#include "async_verdict.h"
#include "crash_capture.h"
#include "interposition.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

// MARK: The beginning

/// Opens the standard three on nothing where they are closed, as glibc does for set-user-ID programs (csu/check_fds.c).
///
/// What a program opens first would have their numbers, the loop's own descriptors among them: its log would go there, and a restart in
/// place hands those numbers to the next process.
__attribute__((constructor)) static void open_standard_descriptors(void) {
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor += 1) {
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) {
            // The lowest that is free, which is this one. In a container without devices nothing can be done.
            (void)open("/dev/null", O_RDWR);
        }
    }
}

// MARK: The end

// From exit(3) on the process ends, and no fault of its exit handlers starts it again.
//
// Functions of the executable stand before exit(3) and quick_exit(3) (ld.so(8)). The C library itself calls exit when main returns, by
// no symbol; there the destructors of the main thread's own variables tell, which come before the handlers of atexit(3)
// (stdlib/exit.c, __run_exit_handlers). _exit(2) needs no note: nothing of the program runs after it.

static void note_exit(void) {
    // By pid: a forked child that exits shares nothing, but one of vfork(2) does.
    atomic_store(&hf_capture_state.exiting, hf_async_process());
    // What waits for a verdict meanwhile ends, too.
    hf_capture_set_verdict_without_decision(HF_VERDICT_TERMINATE);
    // And what waits for its turn to restart the process.
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

// The C library's own, by which C++ compilers register destructors of thread_local variables. It has no header.
extern int __cxa_thread_atexit_impl(void (*destructor)(void *), void *object, void *library);
extern void *__dso_handle __attribute__((visibility("hidden")));

static void note_return_from_main(void *nothing) {
    (void)nothing;
    note_exit();
}

/// On the main thread: constructors run there. pthread_exit(3) of the main thread does not come by its destructors
/// (sysdeps/nptl/libc_start_call_main.h).
__attribute__((constructor)) static void watch_return_from_main(void) {
    __cxa_thread_atexit_impl(note_return_from_main, NULL, &__dso_handle);
}
