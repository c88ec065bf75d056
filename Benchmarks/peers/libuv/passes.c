// SPDX-License-Identifier: Apache-2.0
// Passes, and what all rows need.
#include "loop.h"

uv_loop_t *loop;

// Counts a callout, ends the run with the last, and says whether there are more to come.
bool goes_on(void) {
    if (++calls < wanted) return true;
    uv_stop(loop);
    return false;
}

// Every measurement has a loop of its own.
void begin(long count) {
    loop = malloc(sizeof *loop);
    expect(uv_loop_init(loop) == 0, "no loop");
    calls = 0;
    wanted = count;
}

static void close_handle(uv_handle_t *handle, void *argument) {
    (void)argument;
    if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

void end(void) {
    uv_walk(loop, close_handle, NULL);
    uv_run(loop, UV_RUN_DEFAULT);
    expect(uv_loop_close(loop) == 0, "the loop cannot be closed");
    free(loop);
}

// Runs until the last callout and reports the time of each.
void run_and_report(const char *name, long count) {
    int64_t start = now();
    uv_run(loop, UV_RUN_DEFAULT);
    int64_t end = now();
    expect_count(calls, count);
    report(name, (double)(end - start) / count);
}

void ignore_timer(uv_timer_t *timer) { (void)timer; }

void add_far_timer(uv_timer_t *timer) {
    uv_timer_init(loop, timer);
    uv_timer_start(timer, ignore_timer, 1000000, 0);
}

// --- Passes -----------------------------------------------------------------------------------------------------------

static void count_idle(uv_idle_t *idle) {
    (void)idle;
    goes_on();
}

void measure_pass(long count, long extra) {
    (void)extra;
    begin(count);
    uv_idle_t idle;
    uv_idle_init(loop, &idle);
    uv_idle_start(&idle, count_idle);
    run_and_report("pass", count);
    end();
}

void measure_poll(long count, long extra) {
    (void)extra;
    begin(count);
    uv_timer_t timer;
    add_far_timer(&timer);
    int64_t start = now();
    for (long index = 0; index < count; index++) {
        if (uv_run(loop, UV_RUN_NOWAIT) == 0) fail("an idle poll found no timer");
    }
    report("poll", (double)(now() - start) / count);
    end();
}

void count_async(uv_async_t *async) {
    (void)async;
    calls++;
}

void measure_slice(long count, long extra) {
    (void)extra;
    begin(count);
    uv_timer_t limit;
    uv_async_t async;
    uv_timer_init(loop, &limit);
    uv_async_init(loop, &async, count_async);
    int64_t start = now();
    for (long index = 0; index < count; index++) {
        uv_timer_start(&limit, ignore_timer, 10000, 0);
        uv_async_send(&async);
        uv_run(loop, UV_RUN_ONCE);
        uv_timer_stop(&limit);
    }
    int64_t end_of_slices = now();
    expect_count(calls, count);
    report("slice", (double)(end_of_slices - start) / count);
    end();
}

static uv_async_t pair[2];

static void signal_other(uv_async_t *async) {
    if (goes_on()) uv_async_send(async == &pair[0] ? &pair[1] : &pair[0]);
}

void measure_signal(long count, long extra) {
    (void)extra;
    begin(count);
    uv_async_init(loop, &pair[0], signal_other);
    uv_async_init(loop, &pair[1], signal_other);
    uv_async_send(&pair[0]);
    run_and_report("signal", count);
    end();
}
