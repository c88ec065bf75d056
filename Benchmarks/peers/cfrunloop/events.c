// SPDX-License-Identifier: Apache-2.0
// Posts, descriptors and other threads.
#include "loop.h"

// --- Blocks -----------------------------------------------------------------------------------------------------------

static void post_block(void *argument) {
    (void)argument;
    CFRunLoopPerformBlock(loop, MODE, ^{ goes_on(); });
    CFRunLoopWakeUp(loop);
}

static int64_t start_of_posts;

static void start_posts(void *info) {
    (void)info;
    start_of_posts = now();
    open_gate();
}

void measure_blocks(long count, long extra) {
    count = count / extra * extra;
    Posters posters;
    begin(count);
    CFRunLoopSourceRef source = add_source(loop, start_posts, NULL);
    CFRunLoopSourceSignal(source);
    make_posters(&posters, extra, count, post_block, NULL);
    CFRunLoopRunInMode(MODE, FOREVER, false);
    int64_t end = now();
    join_posters(&posters);
    expect_count(calls, count);
    report("blocks", (double)(end - start_of_posts) / count);
    drop_source(source);
}

static void post_next_block(void) {
    CFRunLoopPerformBlock(loop, MODE, ^{
        if (goes_on()) post_next_block();
    });
    CFRunLoopWakeUp(loop);
}

void measure_own_blocks(long count, long extra) {
    (void)extra;
    begin(count);
    CFRunLoopSourceRef source = add_source(loop, ignore, NULL);
    post_next_block();
    run_and_report("own-block", count);
    drop_source(source);
}

// --- Ports ------------------------------------------------------------------------------------------------------------

static __CFPort port_of(void *info) { return *(int *)info; }

static CFRunLoopSourceRef add_port(int *descriptor, void (*perform)(void *)) {
    CFRunLoopSourceContext1 context = {.version = 1, .info = descriptor, .getPort = port_of, .perform = perform};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, (CFRunLoopSourceContext *)&context);
    CFRunLoopAddSource(loop, source, MODE);
    return source;
}

// CFRunLoop has read the eventfd already.
static void write_again(void *info) {
    if (goes_on()) write_event(*(int *)info);
}

void measure_port(long count, long extra) {
    (void)extra;
    begin(count);
    int descriptor = make_event(true);
    CFRunLoopSourceRef source = add_port(&descriptor, write_again);
    run_and_report("port", count);
    drop_source(source);
    close(descriptor);
}

static int active[ACTIVE];
static int64_t start_of_events;

static void serve_active(void *info) {
    (void)info;
    if (calls == WARM_UP_EVENTS) start_of_events = now();
    if (!goes_on() || calls % ACTIVE != 0) return;
    for (long index = 0; index < ACTIVE; index++) write_event(active[index]);
}

static void fail_port(void *info) {
    (void)info;
    fail("an idle descriptor was served");
}

void measure_descriptors(long count, long idle) {
    allow_descriptors(idle + 100);
    begin(WARM_UP_EVENTS + count);
    int *descriptors = calloc(idle, sizeof *descriptors);
    for (long index = 0; index < idle; index++) {
        descriptors[index] = make_event(false);
        add_port(&descriptors[index], fail_port);
    }
    for (long index = 0; index < ACTIVE; index++) {
        active[index] = make_event(true);
        add_port(&active[index], serve_active);
    }
    CFRunLoopRunInMode(MODE, FOREVER, false);
    int64_t end = now();
    expect_count(calls, WARM_UP_EVENTS + count);
    report("descriptors", (double)(end - start_of_events) / count);
    exit(0);
}

// --- Two threads ------------------------------------------------------------------------------------------------------

static CFRunLoopSourceRef pair[2];
static CFRunLoopRef other_loop;
static pthread_barrier_t both_ready;

static void answer(void *info) {
    (void)info;
    CFRunLoopSourceSignal(pair[0]);
    CFRunLoopWakeUp(loop);
}

static void ask_again(void *info) {
    (void)info;
    if (!goes_on()) {
        CFRunLoopStop(other_loop);
        return;
    }
    CFRunLoopSourceSignal(pair[1]);
    CFRunLoopWakeUp(other_loop);
}

static void *run_other(void *argument) {
    (void)argument;
    pin(1);
    other_loop = CFRunLoopGetCurrent();
    pair[1] = add_source(other_loop, answer, &pair[1]);
    CFRunLoopSourceSignal(pair[1]);
    pthread_barrier_wait(&both_ready);
    expect(CFRunLoopRunInMode(MODE, FOREVER, false) == kCFRunLoopRunStopped, "the other run was not stopped");
    return NULL;
}

void measure_trip(long count, long extra) {
    (void)extra;
    begin(count);
    pin(0);
    pair[0] = add_source(loop, ask_again, &pair[0]);
    pthread_barrier_init(&both_ready, NULL, 2);
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_other, NULL)) fail("no thread");
    pthread_barrier_wait(&both_ready);
    run_and_report("trip", count);
    pthread_join(thread, NULL);
    drop_source(pair[0]);
    drop_source(pair[1]);
}

// --- Nothing to do ----------------------------------------------------------------------------------------------------

void stay_idle(long count, long extra) {
    (void)extra;
    begin(count);
    int descriptor = make_event(false);
    add_port(&descriptor, fail_port);
    add_source(loop, ignore, NULL);
    add_far_timer();
    say_ready();
    CFRunLoopRun();
    fail("an idle loop ended");
}
