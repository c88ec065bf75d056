// The main thread of a program with an async main: it runs the main loop, instead of what the runtime would do with it.
//
// The runtime calls swift_task_asyncMainDrainQueue() when main has begun its task, before any of the program's own code
// (swift/lib/SILGen/SILGenFunction.cpp, emitAsyncMainThreadStart). By itself it gives the main thread to dispatch_main(), or to
// CFRunLoopRun() if Foundation is there: then no loop of ours is ever run, so that nobody hears of a fault.

#include <stddef.h>

#include "swift_job.h"

extern HF_SWIFTCALL void (*swift_task_asyncMainDrainQueue_hook)(HF_SWIFTCALL void (*original)(void), HF_SWIFTCALL void (*override)(void))
    __attribute__((weak));

/// Serves the main queue and does not return. Only a program that links the host has it.
extern void holdfast_drain_main_queue(void) __attribute__((weak));

static HF_SWIFTCALL void hf_task_drain_main(HF_SWIFTCALL void (*original)(void), HF_SWIFTCALL void (*override)(void)) {
    (void)override;
    if (holdfast_drain_main_queue != NULL) {
        holdfast_drain_main_queue();
    }
    original();
}

__attribute__((constructor)) static void take_main(void) {
    if (&swift_task_asyncMainDrainQueue_hook != NULL && swift_task_asyncMainDrainQueue_hook == NULL) {
        swift_task_asyncMainDrainQueue_hook = hf_task_drain_main;
    }
}
