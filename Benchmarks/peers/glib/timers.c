// SPDX-License-Identifier: Apache-2.0
#include "loop.h"

static GSource *timers[MOST_TIMERS];
static int64_t dates[MOST_TIMERS];

// From 1,000 s on, over 1,000 s: g_timeout_source_new takes milliseconds.
static void make_timers(long count) {
    for (long index = 0; index < count; index++) {
        timers[index] = g_timeout_source_new(1000000 + dates[index]);
        g_source_set_callback(timers[index], ignore, NULL, NULL);
    }
}

void attach_timers(long count) {
    for (long index = 0; index < count; index++) g_source_attach(timers[index], context);
}

static void unref_timers(long count) {
    for (long index = 0; index < count; index++) g_source_unref(timers[index]);
}

void measure_add(long count, long limit) {
    (void)limit;
    fill_random(dates, count, 1000000, 1);
    int64_t time = 0;
    for (long cycle = 0; cycle < timer_cycles(count); cycle++) {
        begin(count);
        make_timers(count);
        int64_t start = now();
        attach_timers(count);
        time += cycle_time(start, cycle, count);
        expect(g_source_get_context(timers[count - 1]) == context, "a timer was not added");
        unref_timers(count);
        end();
    }
    report("add", (double)time / timed_operations(count));
}

void measure_cancel(long count, long limit) {
    (void)limit;
    fill_random(dates, count, 1000000, 1);
    int64_t time = 0;
    for (long cycle = 0; cycle < timer_cycles(count); cycle++) {
        begin(count);
        make_timers(count);
        attach_timers(count);
        int64_t start = now();
        for (long index = 0; index < count; index++) g_source_destroy(timers[index]);
        time += cycle_time(start, cycle, count);
        expect(g_source_is_destroyed(timers[count - 1]), "a timer was not cancelled");
        unref_timers(count);
        end();
    }
    report("cancel", (double)time / timed_operations(count));
}

static gboolean fire(void *argument) {
    (void)argument;
    goes_on();
    return G_SOURCE_REMOVE;
}

void measure_fire(long count, long limit) {
    (void)limit;
    fill_random(dates, count, timer_spread(count), 1);
    int64_t time = 0;
    for (long cycle = 0; cycle < timer_cycles(count); cycle++) {
        begin(count);
        // A ready time is in microseconds, and may have passed.
        int64_t first = now() - timer_spread(count);
        for (long index = 0; index < count; index++) {
            timers[index] = g_timeout_source_new(0);
            g_source_set_callback(timers[index], fire, NULL, NULL);
            g_source_set_ready_time(timers[index], (first + dates[index]) / 1000);
        }
        attach_timers(count);
        int64_t start = now();
        g_main_loop_run(loop);
        time += cycle_time(start, cycle, count);
        expect_count(calls, count);
        unref_timers(count);
        end();
    }
    report("fire", (double)time / timed_operations(count));
}

void measure_life(long count, long extra) {
    (void)extra;
    begin(count);
    GSource *far = add_far_timer();
    int64_t start = now();
    for (long index = 0; index < count; index++) {
        GSource *timer = g_timeout_source_new(1000000);
        attach(timer, ignore, NULL);
        drop(timer);
    }
    report("life", (double)(now() - start) / count);
    expect(!g_source_is_destroyed(far), "the timer that stays is gone");
    drop(far);
    end();
}

void measure_due(long count, long extra) {
    (void)extra;
    begin(count);
    // Its date is set again after each call, to the present.
    GSource *timer = g_timeout_source_new(0);
    attach(timer, count_idle, NULL);
    run_and_report("due", count);
    drop(timer);
    end();
}

static gboolean note_lateness(void *timer) {
    dates[calls] = now() - g_source_get_ready_time(timer) * 1000;
    return goes_on();
}

void measure_lateness(long count, long extra) {
    (void)extra;
    begin(count);
    GSource *timer = g_timeout_source_new(1);
    attach(timer, note_lateness, timer);
    g_main_loop_run(loop);
    expect_count(calls, count);
    report_lateness(dates, count);
    drop(timer);
    end();
}
