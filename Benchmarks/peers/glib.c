// SPDX-License-Identifier: Apache-2.0
// GLib's main loop.
#include <glib-unix.h>
#include <glib.h>

#include "peer.h"

// Every measurement has a context of its own.
typedef struct {
    GMainContext *context;
    GMainLoop *main;
} Loop;
typedef GSource *Source;
typedef GSource *Port;
typedef GSource *Timer;

#define ON_SIGNAL(name) static gboolean name(void *argument)
#define ON_TIMER(name) static gboolean name(void *argument)
#define ON_READY(name) static gboolean name(int descriptor, GIOCondition condition, void *argument)
#define DONE return G_SOURCE_CONTINUE
#define TAKE_EVENT \
    expect(condition == G_IO_IN, "a descriptor is in error"); \
    read_event(descriptor)

static Loop loop;

static Loop make_loop(void) {
    GMainContext *context = g_main_context_new();
    return (Loop){.context = context, .main = g_main_loop_new(context, FALSE)};
}

static void free_loop(Loop loop) {
    g_main_loop_unref(loop.main);
    g_main_context_unref(loop.context);
}

static void run(Loop loop) { g_main_loop_run(loop.main); }
static void stop(Loop loop) { g_main_loop_quit(loop.main); }

// --- Sources ----------------------------------------------------------------------------------------------------------

static void attach(GSource *source, GSourceFunc callback, void *argument) {
    g_source_set_callback(source, callback, argument, NULL);
    g_source_attach(source, loop.context);
}

static void drop_source(GSource **source) {
    g_source_destroy(*source);
    g_source_unref(*source);
}
#define drop_port drop_source
#define drop_timer drop_source

// A source that other code makes ready by setting its ready time to 0: what GLib has for a signalled source.
static gboolean dispatch_signalled(GSource *source, GSourceFunc callback, void *argument) {
    g_source_set_ready_time(source, -1);
    callback(argument);
    return G_SOURCE_CONTINUE;
}

static void add_source(Loop to, Source *source, GSourceFunc callback) {
    static GSourceFuncs functions = {.dispatch = dispatch_signalled};
    *source = g_source_new(&functions, sizeof(GSource));
    g_source_set_callback(*source, callback, NULL, NULL);
    g_source_attach(*source, to.context);
}

static void signal_source(Source *source) { g_source_set_ready_time(*source, 0); }

static void add_port(Port *port, int *descriptor, GUnixFDSourceFunc serve) {
    *port = g_unix_fd_source_new(*descriptor, G_IO_IN);
    attach(*port, G_SOURCE_FUNC(serve), NULL);
}

ON_TIMER(count_idle) { return goes_on(); }

static void measure_pass(long count, long extra) {
    begin(count);
    GSource *idle = g_idle_source_new();
    attach(idle, count_idle, NULL);
    run_and_report("pass", count);
    drop_source(&idle);
    end();
}

ON_TIMER(ignore) { return G_SOURCE_REMOVE; }

static bool poll_once(void) { return !g_main_context_iteration(loop.context, FALSE); }

static void prepare_slices(void) {}

static void run_slice(Source *source) {
    GSource *limit = g_timeout_source_new(10000);
    attach(limit, ignore, NULL);
    signal_source(source);
    g_main_context_iteration(loop.context, TRUE);
    drop_source(&limit);
}

// --- Blocks -----------------------------------------------------------------------------------------------------------

#define begin_blocks begin
#define end_blocks end

static gboolean call_posted(void *argument) {
    goes_on();
    return G_SOURCE_REMOVE;
}

static void post_block(void *argument) { g_main_context_invoke(loop.context, call_posted, NULL); }

// g_main_context_invoke would call at once on the loop's own thread: this is what it does on another.
static void post_here(GSourceFunc call) {
    GSource *idle = g_idle_source_new();
    g_source_set_priority(idle, G_PRIORITY_DEFAULT);
    attach(idle, call, NULL);
    g_source_unref(idle);
}

static void post_waiting(void) { post_here(call_posted); }

static gboolean call_own(void *argument);
static void post_own(void) { post_here(call_own); }

static gboolean call_own(void *argument) {
    if (goes_on()) post_own();
    return G_SOURCE_REMOVE;
}

// --- Timers -----------------------------------------------------------------------------------------------------------

static Timer timers[MOST_TIMERS];
// From 1,000 s on, over 1,000 s: g_timeout_source_new takes milliseconds.
#define DATES_ADDED 1000000

static bool is_active(Timer *timer) {
    return !g_source_is_destroyed(*timer) && g_source_get_context(*timer) == loop.context;
}

static void add_far_timer(Timer *timer) {
    *timer = g_timeout_source_new(1000000);
    attach(*timer, ignore, NULL);
}

static void make_timers(long count) {
    for (long index = 0; index < count; index++) {
        timers[index] = g_timeout_source_new(1000000 + dates[index]);
        g_source_set_callback(timers[index], ignore, NULL, NULL);
    }
}

static void add_timers(long count) {
    for (long index = 0; index < count; index++) g_source_attach(timers[index], loop.context);
}

static void cancel_timer(Timer *timer) { g_source_destroy(*timer); }

static void free_timers(long count) {
    for (long index = 0; index < count; index++) g_source_unref(timers[index]);
}

static void add_due_timers(long count) {
    fill_random(dates, count, timer_spread(count), 1);
    // A ready time is in microseconds, and may have passed.
    int64_t first = now() - timer_spread(count);
    for (long index = 0; index < count; index++) {
        timers[index] = g_timeout_source_new(0);
        g_source_set_callback(timers[index], call_posted, NULL, NULL);
        g_source_set_ready_time(timers[index], (first + dates[index]) / 1000);
    }
    add_timers(count);
}

static void live(long index) {
    Timer timer;
    add_far_timer(&timer);
    drop_timer(&timer);
}

// Its date is set again after each call, to the present.
static void start_due(Timer *timer) {
    *timer = g_timeout_source_new(0);
    attach(*timer, count_idle, NULL);
}

static gboolean note_lateness(void *timer) {
    dates[calls] = now() - g_source_get_ready_time(timer) * 1000;
    return goes_on();
}

static void start_lateness(Timer *timer) {
    *timer = g_timeout_source_new(1);
    attach(*timer, note_lateness, *timer);
}

#include "rows.h"
