// SPDX-License-Identifier: Apache-2.0
// Posts, descriptors and other threads.
#include "loop.h"

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
    (void)async;
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

static void call_posted(void) { goes_on(); }

static void post_block(void *argument) {
    (void)argument;
    post(call_posted);
}

static int64_t start_of_posts;

static void start_posts(uv_async_t *async) {
    (void)async;
    start_of_posts = now();
    open_gate();
}

void measure_blocks(long count, long extra) {
    count = count / extra * extra;
    Posters posters;
    begin_blocks(count);
    uv_async_t starter;
    uv_async_init(loop, &starter, start_posts);
    uv_async_send(&starter);
    make_posters(&posters, extra, count, post_block, NULL);
    uv_run(loop, UV_RUN_DEFAULT);
    int64_t end_of_posts = now();
    join_posters(&posters);
    expect_count(calls, count);
    report("blocks", (double)(end_of_posts - start_of_posts) / count);
    end();
}

static void call_own(void) {
    if (goes_on()) post(call_own);
}

void measure_own_blocks(long count, long extra) {
    (void)extra;
    begin_blocks(count);
    post(call_own);
    run_and_report("own-block", count);
    end();
}

// --- Ports ------------------------------------------------------------------------------------------------------------

static void write_again(uv_poll_t *poll, int status, int events) {
    expect(status == 0 && (events & UV_READABLE), "a descriptor is in error");
    int descriptor = *(int *)poll->data;
    read_event(descriptor);
    if (goes_on()) write_event(descriptor);
}

static void add_port(uv_poll_t *poll, int *descriptor, uv_poll_cb serve) {
    expect(uv_poll_init(loop, poll, *descriptor) == 0, "a descriptor was refused");
    poll->data = descriptor;
    uv_poll_start(poll, UV_READABLE, serve);
}

void measure_port(long count, long extra) {
    (void)extra;
    begin(count);
    int descriptor = make_event(true);
    uv_poll_t poll;
    add_port(&poll, &descriptor, write_again);
    run_and_report("port", count);
    end();
    close(descriptor);
}

static int active[ACTIVE];
static int64_t start_of_events;

static void serve_active(uv_poll_t *poll, int status, int events) {
    expect(status == 0 && (events & UV_READABLE), "a descriptor is in error");
    read_event(*(int *)poll->data);
    if (calls == WARM_UP_EVENTS) start_of_events = now();
    if (!goes_on() || calls % ACTIVE != 0) return;
    for (long index = 0; index < ACTIVE; index++) write_event(active[index]);
}

static void fail_port(uv_poll_t *poll, int status, int events) {
    (void)poll;
    (void)status;
    (void)events;
    fail("an idle descriptor was served");
}

void measure_descriptors(long count, long idle) {
    allow_descriptors(idle + 100);
    begin(WARM_UP_EVENTS + count);
    int *descriptors = calloc(idle, sizeof *descriptors);
    uv_poll_t *polls = calloc(idle + ACTIVE, sizeof *polls);
    for (long index = 0; index < idle; index++) {
        descriptors[index] = make_event(false);
        add_port(&polls[index], &descriptors[index], fail_port);
    }
    for (long index = 0; index < ACTIVE; index++) {
        active[index] = make_event(true);
        add_port(&polls[idle + index], &active[index], serve_active);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    int64_t end_of_events = now();
    expect_count(calls, WARM_UP_EVENTS + count);
    report("descriptors", (double)(end_of_events - start_of_events) / count);
    exit(0);
}

// --- Two threads ------------------------------------------------------------------------------------------------------

static uv_async_t pair[2];
static uv_loop_t other_loop;
static pthread_barrier_t both_ready;

static void answer(uv_async_t *async) {
    (void)async;
    if (calls >= wanted) {
        uv_stop(&other_loop);
        return;
    }
    uv_async_send(&pair[0]);
}

static void ask_again(uv_async_t *async) {
    (void)async;
    goes_on();
    uv_async_send(&pair[1]);
}

static void *run_other(void *argument) {
    (void)argument;
    pin(1);
    expect(uv_loop_init(&other_loop) == 0, "no loop");
    uv_async_init(&other_loop, &pair[1], answer);
    uv_async_send(&pair[1]);
    pthread_barrier_wait(&both_ready);
    uv_run(&other_loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&pair[1], NULL);
    uv_run(&other_loop, UV_RUN_DEFAULT);
    uv_loop_close(&other_loop);
    return NULL;
}

void measure_trip(long count, long extra) {
    (void)extra;
    begin(count);
    pin(0);
    uv_async_init(loop, &pair[0], ask_again);
    pthread_barrier_init(&both_ready, NULL, 2);
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_other, NULL)) fail("no thread");
    pthread_barrier_wait(&both_ready);
    run_and_report("trip", count);
    pthread_join(thread, NULL);
    end();
}

// --- Nothing to do ----------------------------------------------------------------------------------------------------

void stay_idle(long count, long extra) {
    (void)extra;
    begin(count);
    int descriptor = make_event(false);
    uv_poll_t poll;
    uv_async_t async;
    uv_timer_t timer;
    add_port(&poll, &descriptor, fail_port);
    uv_async_init(loop, &async, count_async);
    add_far_timer(&timer);
    say_ready();
    uv_run(loop, UV_RUN_DEFAULT);
    fail("an idle loop ended");
}
