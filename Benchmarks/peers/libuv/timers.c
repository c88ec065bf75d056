// SPDX-License-Identifier: Apache-2.0
#include "loop.h"

static uv_timer_t timers[MOST_TIMERS];
static int64_t dates[MOST_TIMERS];

static void make_timers(long count) {
    for (long index = 0; index < count; index++) uv_timer_init(loop, &timers[index]);
}

// From 1,000 s on, over 1,000 s: libuv counts milliseconds.
static void add_timers(long count) {
    for (long index = 0; index < count; index++) uv_timer_start(&timers[index], ignore_timer, 1000000 + dates[index], 0);
}

void measure_add(long count, long limit) {
    (void)limit;
    fill_random(dates, count, 1000000, 1);
    int64_t time = 0;
    for (long cycle = 0; cycle < timer_cycles(count); cycle++) {
        begin(count);
        make_timers(count);
        int64_t start = now();
        add_timers(count);
        time += cycle_time(start, cycle, count);
        expect(uv_is_active((uv_handle_t *)&timers[count - 1]), "a timer was not added");
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
        add_timers(count);
        int64_t start = now();
        for (long index = 0; index < count; index++) uv_timer_stop(&timers[index]);
        time += cycle_time(start, cycle, count);
        expect(!uv_is_active((uv_handle_t *)&timers[count - 1]), "a timer was not cancelled");
        end();
    }
    report("cancel", (double)time / timed_operations(count));
}

static void fire(uv_timer_t *timer) {
    (void)timer;
    goes_on();
}

void measure_fire(long count, long limit) {
    (void)limit;
    int64_t time = 0;
    for (long cycle = 0; cycle < timer_cycles(count); cycle++) {
        begin(count);
        make_timers(count);
        // Dates that differ are a millisecond apart here. Nobody waits for that: the loop's clock is set back instead.
        int64_t spread = loop->time / 2;
        if (spread > count) spread = count;
        fill_random(dates, count, spread, 1);
        loop->time -= spread;
        for (long index = 0; index < count; index++) uv_timer_start(&timers[index], fire, dates[index], 0);
        int64_t start = now();
        uv_run(loop, UV_RUN_DEFAULT);
        time += cycle_time(start, cycle, count);
        expect_count(calls, count);
        end();
    }
    report("fire", (double)time / timed_operations(count));
}

static void free_timer(uv_handle_t *timer) { free(timer); }

void measure_life(long count, long extra) {
    (void)extra;
    begin(count);
    uv_timer_t far;
    add_far_timer(&far);
    int64_t start = now();
    for (long index = 0; index < count; index++) {
        uv_timer_t *timer = malloc(sizeof *timer);
        uv_timer_init(loop, timer);
        uv_timer_start(timer, ignore_timer, 1000000, 0);
        uv_close((uv_handle_t *)timer, free_timer);
        // A closed handle goes in the next pass: one pass for many.
        if (index % 64 == 63) uv_run(loop, UV_RUN_NOWAIT);
    }
    report("life", (double)(now() - start) / count);
    end();
}

static void come_again(uv_timer_t *timer) {
    if (goes_on()) uv_timer_start(timer, come_again, 0, 0);
}

void measure_due(long count, long extra) {
    (void)extra;
    begin(count);
    uv_timer_t timer;
    uv_timer_init(loop, &timer);
    uv_timer_start(&timer, come_again, 0, 0);
    run_and_report("due", count);
    end();
}

static int64_t expected_fire;

static void note_lateness(uv_timer_t *timer) {
    (void)timer;
    dates[calls] = now() - expected_fire;
    // It was started again just before this call.
    expected_fire = (int64_t)(uv_now(loop) + 1) * MILLISECOND;
    goes_on();
}

void measure_lateness(long count, long extra) {
    (void)extra;
    begin(count);
    uv_timer_t timer;
    uv_timer_init(loop, &timer);
    expected_fire = (int64_t)(uv_now(loop) + 10) * MILLISECOND;
    uv_timer_start(&timer, note_lateness, 10, 1);
    uv_run(loop, UV_RUN_DEFAULT);
    expect_count(calls, count);
    report_lateness(dates, count);
    end();
}
