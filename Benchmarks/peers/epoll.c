// SPDX-License-Identifier: Apache-2.0
// No event loop at all: what the kernel takes for it. Items are descriptors in an epoll instance, and their callouts are called directly.
//
// Rows of blocks, of passes without the kernel and of many timers are left out: there the kernel has no part.
#define IS_KERNEL_ONLY
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

#include "peer.h"

typedef struct {
    int epoll;
    bool is_stopped;
} *Loop;

typedef struct Item {
    int descriptor;
    int epoll;
    void (*call)(struct Item *item);
} Item;
typedef Item Source;
typedef Item Port;
typedef Item Timer;

#define ON_SIGNAL(name) static void name(Item *item)
#define ON_TIMER(name) static void name(Item *item)
#define ON_READY(name) static void name(Item *item)
#define DONE return
#define TAKE_EVENT \
    int descriptor = item->descriptor; \
    read_event(descriptor)

enum { MOST_EVENTS = 64 };

static Loop loop;

static Loop make_loop(void) {
    Loop loop = calloc(1, sizeof *loop);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    expect(loop->epoll >= 0, "no epoll instance");
    return loop;
}

static void free_loop(Loop loop) {
    close(loop->epoll);
    free(loop);
}

static int wait_for_events(Loop loop, struct epoll_event *events, int limit) {
    int count = epoll_wait(loop->epoll, events, MOST_EVENTS, limit);
    expect(count >= 0 || errno == EINTR, "epoll_wait");
    return count;
}

static void serve(Loop loop, int limit) {
    struct epoll_event events[MOST_EVENTS];
    int count = wait_for_events(loop, events, limit);
    for (int index = 0; index < count; index++) {
        Item *item = events[index].data.ptr;
        item->call(item);
    }
}

static void run(Loop loop) {
    while (!loop->is_stopped) serve(loop, -1);
}

static void stop(Loop loop) { loop->is_stopped = true; }

static void add(Loop loop, Item *item, int descriptor, uint32_t events, void (*call)(Item *item)) {
    *item = (Item){.descriptor = descriptor, .epoll = loop->epoll, .call = call};
    struct epoll_event event = {.events = events, .data.ptr = item};
    expect(epoll_ctl(loop->epoll, EPOLL_CTL_ADD, descriptor, &event) == 0, "a descriptor was refused");
}

// --- Sources ----------------------------------------------------------------------------------------------------------

// Edge-triggered: an event need not be read, a write is a new one (epoll(7)).
static void add_source(Loop to, Source *source, void (*call)(Item *item)) {
    add(to, source, make_event(false), EPOLLIN | EPOLLET, call);
}

static void signal_source(Source *source) { write_event(source->descriptor); }
static void drop_source(Source *source) { close(source->descriptor); }

static void add_port(Port *port, int *descriptor, void (*call)(Item *item)) {
    add(loop, port, *descriptor, EPOLLIN, call);
}

static void drop_port(Port *port) { epoll_ctl(port->epoll, EPOLL_CTL_DEL, port->descriptor, NULL); }

// --- Passes -----------------------------------------------------------------------------------------------------------

static bool poll_once(void) {
    struct epoll_event events[MOST_EVENTS];
    return wait_for_events(loop, events, 0) == 0;
}

static int slice_limit;

static void set_timer(int timer, int64_t delay, int64_t interval) {
    struct itimerspec time = {
        .it_value = {.tv_sec = delay / SECOND, .tv_nsec = delay % SECOND},
        .it_interval = {.tv_sec = interval / SECOND, .tv_nsec = interval % SECOND},
    };
    expect(timerfd_settime(timer, 0, &time, NULL) == 0, "a timer was refused");
}

static int make_timer(void) {
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    expect(timer >= 0, "no timer");
    return timer;
}

ON_TIMER(ignore_timer) { fail("a timer of 1,000 s has fired"); }

static void prepare_slices(void) {
    static Item limit;
    slice_limit = make_timer();
    add(loop, &limit, slice_limit, EPOLLIN | EPOLLET, ignore_timer);
}

static void run_slice(Source *source) {
    set_timer(slice_limit, 10 * SECOND, 0);
    signal_source(source);
    serve(loop, -1);
    set_timer(slice_limit, 0, 0);
}

// --- Timers -----------------------------------------------------------------------------------------------------------

static void add_far_timer(Timer *timer) {
    int descriptor = make_timer();
    set_timer(descriptor, 1000 * SECOND, 0);
    add(loop, timer, descriptor, EPOLLIN | EPOLLET, ignore_timer);
}

static void drop_timer(Timer *timer) { close(timer->descriptor); }

static int64_t expected_fire;

ON_TIMER(note_lateness) {
    int64_t time = now();
    // The kernel starts the next period when this one was read (timerfd_read in fs/timerfd.c).
    read_event(item->descriptor);
    // The timer keeps its phase: what it missed, it fires once for.
    dates[calls] = time - expected_fire;
    while (expected_fire <= time) expected_fire += MILLISECOND;
    goes_on();
}

static void start_lateness(Timer *timer) {
    int descriptor = make_timer();
    expected_fire = now() + 10 * MILLISECOND;
    struct itimerspec time = {
        .it_value = {.tv_sec = expected_fire / SECOND, .tv_nsec = expected_fire % SECOND},
        .it_interval = {.tv_nsec = MILLISECOND},
    };
    expect(timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &time, NULL) == 0, "a timer was refused");
    add(loop, timer, descriptor, EPOLLIN | EPOLLET, note_lateness);
}

#include "rows.h"
