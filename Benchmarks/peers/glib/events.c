// SPDX-License-Identifier: Apache-2.0
// Posts, descriptors and other threads.
#include "loop.h"

// --- Blocks -----------------------------------------------------------------------------------------------------------

static gboolean call_posted(void *argument) {
    (void)argument;
    goes_on();
    return G_SOURCE_REMOVE;
}

static void post_block(void *argument) {
    (void)argument;
    g_main_context_invoke(context, call_posted, NULL);
}

static int64_t start_of_posts;

static gboolean start_posts(void *argument) {
    (void)argument;
    start_of_posts = now();
    open_gate();
    return G_SOURCE_CONTINUE;
}

void measure_blocks(long count, long extra) {
    count = count / extra * extra;
    Posters posters;
    begin(count);
    GSource *starter = add_source(context, start_posts, NULL);
    g_source_set_ready_time(starter, 0);
    make_posters(&posters, extra, count, post_block, NULL);
    g_main_loop_run(loop);
    int64_t end_of_posts = now();
    join_posters(&posters);
    expect_count(calls, count);
    report("blocks", (double)(end_of_posts - start_of_posts) / count);
    drop(starter);
    end();
}

// g_main_context_invoke would call at once on the loop's own thread: this is what it does on another.
static gboolean call_own(void *argument) {
    (void)argument;
    if (!goes_on()) return G_SOURCE_REMOVE;
    GSource *idle = g_idle_source_new();
    g_source_set_priority(idle, G_PRIORITY_DEFAULT);
    attach(idle, call_own, NULL);
    g_source_unref(idle);
    return G_SOURCE_REMOVE;
}

void measure_own_blocks(long count, long extra) {
    (void)extra;
    // One call more than `count`: the first is not posted by a block.
    begin(count + 1);
    GSource *idle = g_idle_source_new();
    attach(idle, call_own, NULL);
    g_source_unref(idle);
    run_and_report("own-block", count + 1);
    end();
}

// --- Ports ------------------------------------------------------------------------------------------------------------

static gboolean write_again(int descriptor, GIOCondition condition, void *argument) {
    (void)argument;
    expect(condition == G_IO_IN, "a descriptor is in error");
    read_event(descriptor);
    if (goes_on()) write_event(descriptor);
    return G_SOURCE_CONTINUE;
}

static GSource *add_port(int descriptor, GUnixFDSourceFunc serve) {
    GSource *source = g_unix_fd_source_new(descriptor, G_IO_IN);
    attach(source, G_SOURCE_FUNC(serve), NULL);
    return source;
}

void measure_port(long count, long extra) {
    (void)extra;
    begin(count);
    int descriptor = make_event(true);
    GSource *source = add_port(descriptor, write_again);
    run_and_report("port", count);
    drop(source);
    end();
    close(descriptor);
}

static int active[ACTIVE];
static int64_t start_of_events;

static gboolean serve_active(int descriptor, GIOCondition condition, void *argument) {
    (void)argument;
    expect(condition == G_IO_IN, "a descriptor is in error");
    read_event(descriptor);
    if (calls == WARM_UP_EVENTS) start_of_events = now();
    if (!goes_on() || calls % ACTIVE != 0) return G_SOURCE_CONTINUE;
    for (long index = 0; index < ACTIVE; index++) write_event(active[index]);
    return G_SOURCE_CONTINUE;
}

static gboolean fail_port(int descriptor, GIOCondition condition, void *argument) {
    (void)descriptor;
    (void)condition;
    (void)argument;
    fail("an idle descriptor was served");
}

void measure_descriptors(long count, long idle) {
    allow_descriptors(idle + 100);
    begin(WARM_UP_EVENTS + count);
    for (long index = 0; index < idle; index++) add_port(make_event(false), fail_port);
    for (long index = 0; index < ACTIVE; index++) {
        active[index] = make_event(true);
        add_port(active[index], serve_active);
    }
    g_main_loop_run(loop);
    int64_t end_of_events = now();
    expect_count(calls, WARM_UP_EVENTS + count);
    report("descriptors", (double)(end_of_events - start_of_events) / count);
    exit(0);
}

// --- Two threads ------------------------------------------------------------------------------------------------------

static GSource *pair[2];
static GMainContext *other_context;
static GMainLoop *other_loop;
static pthread_barrier_t both_ready;

static gboolean answer(void *argument) {
    (void)argument;
    g_source_set_ready_time(pair[0], 0);
    return G_SOURCE_CONTINUE;
}

static gboolean ask_again(void *argument) {
    (void)argument;
    if (goes_on()) {
        g_source_set_ready_time(pair[1], 0);
    } else {
        g_main_loop_quit(other_loop);
    }
    return G_SOURCE_CONTINUE;
}

static void *run_other(void *argument) {
    (void)argument;
    pin(1);
    other_context = g_main_context_new();
    other_loop = g_main_loop_new(other_context, FALSE);
    pair[1] = add_source(other_context, answer, NULL);
    g_source_set_ready_time(pair[1], 0);
    pthread_barrier_wait(&both_ready);
    g_main_loop_run(other_loop);
    return NULL;
}

void measure_trip(long count, long extra) {
    (void)extra;
    begin(count);
    pin(0);
    pair[0] = add_source(context, ask_again, NULL);
    pthread_barrier_init(&both_ready, NULL, 2);
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_other, NULL)) fail("no thread");
    pthread_barrier_wait(&both_ready);
    run_and_report("trip", count);
    pthread_join(thread, NULL);
    drop(pair[0]);
    drop(pair[1]);
    g_main_loop_unref(other_loop);
    g_main_context_unref(other_context);
    end();
}

// --- Nothing to do ----------------------------------------------------------------------------------------------------

void stay_idle(long count, long extra) {
    (void)extra;
    begin(count);
    add_port(make_event(false), fail_port);
    add_source(context, count_call, NULL);
    add_far_timer();
    say_ready();
    g_main_loop_run(loop);
    fail("an idle loop ended");
}
