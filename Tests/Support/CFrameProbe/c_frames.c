// Frames of C.

#include "frame_probe.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline, disable_tail_calls))

void hf_frame_stop(long thread) {
    __asm__ volatile("int3\n\tnop" : : "D"(thread));
}

static volatile int depth;

static inline __attribute__((always_inline)) void inlined_into_outer(HFFrameBody body, void *context) {
    depth += 1;
    body(context);
    depth -= 1;
}

static KEEP void outer_of_inlined(HFFrameBody body, void *context) {
    inlined_into_outer(body, context);
    depth += 1;
}

KEEP void hf_frame_through_c(HFFrameBody body, void *context) {
    outer_of_inlined(body, context);
    depth += 1;
}

static HFFrameBody kept_body;
static void *kept_context;

static KEEP int compare(const void *left, const void *right) {
    kept_body(kept_context);
    return *(const int *)left - *(const int *)right;
}

KEEP void hf_frame_through_qsort(HFFrameBody body, void *context) {
    int values[] = {3, 1, 2};
    kept_body = body;
    kept_context = context;
    qsort(values, 3, sizeof values[0], compare);
    depth += values[0];
}

static KEEP void handle(int signal) {
    kept_body(kept_context);
    depth += signal;
}

KEEP void hf_frame_through_signal(HFFrameBody body, void *context) {
    kept_body = body;
    kept_context = context;
    signal(SIGUSR1, handle);
    raise(SIGUSR1);
    depth += 1;
}

static KEEP __attribute__((noreturn)) void never_returns(HFFrameBody body, void *context) {
    body(context);
    abort();
}

KEEP void hf_frame_last_call(HFFrameBody body, void *context) {
    depth += 1;
    never_returns(body, context);
}

static void *run(void *argument) {
    (void)argument;
    kept_body(kept_context);
    return NULL;
}

KEEP void hf_frame_on_thread(long stack_bytes, HFFrameBody body, void *context) {
    pthread_attr_t attributes;
    pthread_t thread;
    kept_body = body;
    kept_context = context;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)stack_bytes);
    if (pthread_create(&thread, &attributes, run, NULL) == 0) {
        pthread_join(thread, NULL);
    }
}
