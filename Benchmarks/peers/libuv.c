// SPDX-License-Identifier: Apache-2.0
// libuv.
#include <uv.h>

#include "peer.h"

// Every measurement has a loop of its own.
typedef uv_loop_t *Loop;
typedef uv_async_t Source;
typedef uv_poll_t Port;
typedef uv_timer_t Timer;

#define ON_SIGNAL(name) static void name(uv_async_t *source)
#define ON_TIMER(name) static void name(uv_timer_t *timer)
#define ON_READY(name) static void name(uv_poll_t *poll, int status, int events)
#define DONE return
#define TAKE_EVENT \
    int descriptor = *(int *)poll->data; \
    expect(status == 0 && (events & UV_READABLE), "a descriptor is in error"); \
    read_event(descriptor)

static Loop loop;

static Loop make_loop(void) {
    Loop loop = malloc(sizeof *loop);
    expect(uv_loop_init(loop) == 0, "no loop");
    return loop;
}

static void run(Loop loop) { uv_run(loop, UV_RUN_DEFAULT); }
static void stop(Loop loop) { uv_stop(loop); }

static void close_handle(uv_handle_t *handle, void *argument) {
    if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

// Closes all handles, too: nothing needs to be dropped before.
static void free_loop(Loop loop) {
    uv_walk(loop, close_handle, NULL);
    run(loop);
    expect(uv_loop_close(loop) == 0, "the loop cannot be closed");
    free(loop);
}

static void drop_source(Source *source) {}
static void drop_port(Port *port) {}
static void drop_timer(Timer *timer) {}

// --- Sources ----------------------------------------------------------------------------------------------------------

static void add_source(Loop to, Source *source, uv_async_cb callback) { uv_async_init(to, source, callback); }
static void signal_source(Source *source) { uv_async_send(source); }

static void add_port(Port *port, int *descriptor, uv_poll_cb serve) {
    expect(uv_poll_init(loop, port, *descriptor) == 0, "a descriptor was refused");
    port->data = descriptor;
    uv_poll_start(port, UV_READABLE, serve);
}

static void count_idle(uv_idle_t *idle) { goes_on(); }

static void measure_pass(long count, long extra) {
    begin(count);
    uv_idle_t idle;
    uv_idle_init(loop, &idle);
    uv_idle_start(&idle, count_idle);
    run_and_report("pass", count);
    end();
}

ON_TIMER(ignore_timer) {}

static bool poll_once(void) { return uv_run(loop, UV_RUN_NOWAIT) != 0; }

static uv_timer_t slice_limit;

static void prepare_slices(void) { uv_timer_init(loop, &slice_limit); }

static void run_slice(Source *source) {
    uv_timer_start(&slice_limit, ignore_timer, 10000, 0);
    uv_async_send(source);
    uv_run(loop, UV_RUN_ONCE);
    uv_timer_stop(&slice_limit);
}

// --- Blocks -----------------------------------------------------------------------------------------------------------

// uv_async_send coalesces: who must not lose a call has a queue beside it.
typedef struct Block {
    void (*call)(void);
    struct Block *next;
} Block;
static uv_mutex_t blocks_lock;
static Block *first_block;
static Block **last_block = &first_block;
static uv_async_t blocks_async;

static void post(void (*call)(void)) {
    Block *block = malloc(sizeof *block);
    block->call = call;
    block->next = NULL;
    uv_mutex_lock(&blocks_lock);
    *last_block = block;
    last_block = &block->next;
    uv_mutex_unlock(&blocks_lock);
    uv_async_send(&blocks_async);
}

static void call_blocks(uv_async_t *async) {
    uv_mutex_lock(&blocks_lock);
    Block *block = first_block;
    first_block = NULL;
    last_block = &first_block;
    uv_mutex_unlock(&blocks_lock);
    while (block) {
        Block *next = block->next;
        block->call();
        free(block);
        block = next;
    }
}

static void begin_blocks(long count) {
    begin(count);
    uv_mutex_init(&blocks_lock);
    uv_async_init(loop, &blocks_async, call_blocks);
}
#define end_blocks end

static void call_posted(void) { goes_on(); }
static void post_block(void *argument) { post(call_posted); }

static void post_waiting(void) { post(call_posted); }

static void post_own(void);
static void call_own(void) {
    if (goes_on()) post_own();
}
static void post_own(void) { post(call_own); }

// --- Timers -----------------------------------------------------------------------------------------------------------

static Timer timers[MOST_TIMERS];
// From 1,000 s on, over 1,000 s: libuv counts milliseconds.
#define DATES_ADDED 1000000

static bool is_active(Timer *timer) { return uv_is_active((uv_handle_t *)timer); }

static void add_far_timer(Timer *timer) {
    uv_timer_init(loop, timer);
    uv_timer_start(timer, ignore_timer, 1000000, 0);
}

static void make_timers(long count) {
    for (long index = 0; index < count; index++) uv_timer_init(loop, &timers[index]);
}

static void add_timers(long count) {
    for (long index = 0; index < count; index++) uv_timer_start(&timers[index], ignore_timer, 1000000 + dates[index], 0);
}

static void cancel_timer(Timer *timer) { uv_timer_stop(timer); }
static void free_timers(long count) {}

ON_TIMER(fire) { goes_on(); }

static void add_due_timers(long count) {
    make_timers(count);
    // Dates that differ are a millisecond apart here. Nobody waits for that: the loop's clock is set back instead.
    int64_t spread = loop->time / 2;
    if (spread > count) spread = count;
    fill_random(dates, count, spread, 1);
    loop->time -= spread;
    for (long index = 0; index < count; index++) uv_timer_start(&timers[index], fire, dates[index], 0);
}

static void free_timer(uv_handle_t *timer) { free(timer); }

static void live(long index) {
    uv_timer_t *timer = malloc(sizeof *timer);
    uv_timer_init(loop, timer);
    uv_timer_start(timer, ignore_timer, 1000000, 0);
    uv_close((uv_handle_t *)timer, free_timer);
    // A closed handle goes in the next pass: one pass for many.
    if (index % 64 == 63) uv_run(loop, UV_RUN_NOWAIT);
}

ON_TIMER(come_again) {
    if (goes_on()) uv_timer_start(timer, come_again, 0, 0);
}

static void start_due(Timer *timer) {
    uv_timer_init(loop, timer);
    uv_timer_start(timer, come_again, 0, 0);
}

static int64_t expected_fire;

ON_TIMER(note_lateness) {
    dates[calls] = now() - expected_fire;
    // It was started again just before this call.
    expected_fire = (int64_t)(uv_now(loop) + 1) * MILLISECOND;
    goes_on();
}

static void start_lateness(Timer *timer) {
    uv_timer_init(loop, timer);
    expected_fire = (int64_t)(uv_now(loop) + 10) * MILLISECOND;
    uv_timer_start(timer, note_lateness, 10, 1);
}

#include "rows.h"
