// SPDX-License-Identifier: Apache-2.0
// Passes, and what all rows need.
#include "loop.h"

GMainContext *context;
GMainLoop *loop;

// Counts a callout, ends the run with the last, and says whether there are more to come.
bool goes_on(void) {
    if (++calls < wanted) return G_SOURCE_CONTINUE;
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

// Every measurement has a context of its own.
void begin(long count) {
    context = g_main_context_new();
    loop = g_main_loop_new(context, FALSE);
    calls = 0;
    wanted = count;
}

void end(void) {
    g_main_loop_unref(loop);
    g_main_context_unref(context);
}

// Runs until the last callout and reports the time of each.
void run_and_report(const char *name, long count) {
    int64_t start = now();
    g_main_loop_run(loop);
    int64_t end = now();
    expect_count(calls, count);
    report(name, (double)(end - start) / count);
}

void attach(GSource *source, GSourceFunc callback, void *argument) {
    g_source_set_callback(source, callback, argument, NULL);
    g_source_attach(source, context);
}

void drop(GSource *source) {
    g_source_destroy(source);
    g_source_unref(source);
}

gboolean ignore(void *argument) {
    (void)argument;
    return G_SOURCE_REMOVE;
}

GSource *add_far_timer(void) {
    GSource *timer = g_timeout_source_new(1000000);
    attach(timer, ignore, NULL);
    return timer;
}

// A source that other code makes ready by setting its ready time to 0: what GLib has for a signalled source.
static gboolean dispatch_signalled(GSource *source, GSourceFunc callback, void *argument) {
    g_source_set_ready_time(source, -1);
    callback(argument);
    return G_SOURCE_CONTINUE;
}

GSource *add_source(GMainContext *to, GSourceFunc callback, void *argument) {
    static GSourceFuncs functions = {.dispatch = dispatch_signalled};
    GSource *source = g_source_new(&functions, sizeof(GSource));
    g_source_set_callback(source, callback, argument, NULL);
    g_source_attach(source, to);
    return source;
}

// --- Passes -----------------------------------------------------------------------------------------------------------

gboolean count_idle(void *argument) {
    (void)argument;
    return goes_on();
}

void measure_pass(long count, long extra) {
    (void)extra;
    begin(count);
    GSource *idle = g_idle_source_new();
    attach(idle, count_idle, NULL);
    run_and_report("pass", count);
    drop(idle);
    end();
}

void measure_poll(long count, long extra) {
    (void)extra;
    begin(count);
    GSource *timer = add_far_timer();
    int64_t start = now();
    for (long index = 0; index < count; index++) {
        if (g_main_context_iteration(context, FALSE)) fail("an idle poll served something");
    }
    report("poll", (double)(now() - start) / count);
    drop(timer);
    end();
}

gboolean count_call(void *argument) {
    (void)argument;
    calls++;
    return G_SOURCE_CONTINUE;
}

void measure_slice(long count, long extra) {
    (void)extra;
    begin(count);
    GSource *source = add_source(context, count_call, NULL);
    int64_t start = now();
    for (long index = 0; index < count; index++) {
        GSource *limit = g_timeout_source_new(10000);
        attach(limit, ignore, NULL);
        g_source_set_ready_time(source, 0);
        g_main_context_iteration(context, TRUE);
        drop(limit);
    }
    int64_t end_of_slices = now();
    expect_count(calls, count);
    report("slice", (double)(end_of_slices - start) / count);
    drop(source);
    end();
}

static GSource *pair[2];

static gboolean signal_other(void *argument) {
    if (goes_on()) g_source_set_ready_time(*(GSource **)argument, 0);
    return G_SOURCE_CONTINUE;
}

void measure_signal(long count, long extra) {
    (void)extra;
    begin(count);
    pair[0] = add_source(context, signal_other, &pair[1]);
    pair[1] = add_source(context, signal_other, &pair[0]);
    g_source_set_ready_time(pair[0], 0);
    run_and_report("signal", count);
    drop(pair[0]);
    drop(pair[1]);
    end();
}
