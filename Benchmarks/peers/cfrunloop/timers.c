// SPDX-License-Identifier: Apache-2.0
#include "loop.h"

static CFRunLoopTimerRef timers[MOST_TIMERS];
static int64_t dates[MOST_TIMERS];
static long places[MOST_TIMERS];

static void make_timers(long count, CFAbsoluteTime first, CFRunLoopTimerCallBack callback) {
    for (long index = 0; index < count; index++) timers[index] = make_timer(first + dates[index] / 1e9, 0, callback);
}

static int by_date(const void *left, const void *right) {
    int64_t a = dates[*(const long *)left], b = dates[*(const long *)right];
    return (a > b) - (a < b);
}

// Adds timers in the order of their dates, which is fast; the sorted array that they end in is the same.
static void add_sorted(long count) {
    for (long index = 0; index < count; index++) places[index] = index;
    qsort(places, count, sizeof *places, by_date);
    for (long index = 0; index < count; index++) CFRunLoopAddTimer(loop, timers[places[index]], MODE);
}

// Adding is linear in what the loop holds: above this number, a part of the timers is added to a loop that holds half.
#define MOST_TO_ADD 200000
// The same for cancelling.
#define MOST_TO_CANCEL 20000

void drop_timers(long count) {
    for (long index = 0; index < count; index++) drop_timer(timers[index]);
}

void measure_add(long count, long limit) {
    begin(count);
    fill_random(dates, count, 1000 * SECOND, 1);
    long held = count > MOST_TO_ADD ? count / 2 : 0;
    if (held) note("adds as many as the time allows to a loop that holds half of them; all would take minutes");
    int64_t time = 0;
    for (long cycle = 0; cycle < timer_cycles(count); cycle++) {
        make_timers(count, CFAbsoluteTimeGetCurrent() + 1000, ignore_timer);
        add_sorted(held);
        long added = held;
        int64_t start = now(), deadline = start + limit * MILLISECOND;
        while (added < count && (held == 0 || added % 16 != 0 || now() < deadline)) {
            CFRunLoopAddTimer(loop, timers[added++], MODE);
        }
        time += cycle_time(start, cycle, count);
        expect(CFRunLoopContainsTimer(loop, timers[added - 1], MODE), "a timer was not added");
        if (held) {
            report("add", (double)time / (added - held));
            exit(0);
        }
        if (cycle + 1 < timer_cycles(count)) drop_timers(count);
    }
    report("add", (double)time / timed_operations(count));
    exit(0);
}

void measure_cancel(long count, long limit) {
    bool is_sample = count > MOST_TO_CANCEL;
    if (is_sample) {
        count /= 2;
        note("cancels as many as the time allows of a loop that holds half of them; all would take minutes");
    }
    begin(count);
    fill_random(dates, count, 1000 * SECOND, 1);
    int64_t time = 0;
    for (long cycle = 0; cycle < timer_cycles(count); cycle++) {
        make_timers(count, CFAbsoluteTimeGetCurrent() + 1000, ignore_timer);
        add_sorted(count);
        long cancelled = 0;
        int64_t start = now(), deadline = start + limit * MILLISECOND;
        while (cancelled < count && (!is_sample || cancelled % 16 != 0 || now() < deadline)) {
            CFRunLoopTimerInvalidate(timers[cancelled++]);
        }
        time += cycle_time(start, cycle, count);
        expect(!CFRunLoopContainsTimer(loop, timers[cancelled - 1], MODE), "a timer was not cancelled");
        if (is_sample) {
            report("cancel", (double)time / cancelled);
            exit(0);
        }
        for (long index = 0; index < count; index++) CFRelease(timers[index]);
    }
    report("cancel", (double)time / timed_operations(count));
    exit(0);
}

static int64_t start_of_fires;
static int64_t first_fire;
static int64_t time_limit;

static void fire(CFRunLoopTimerRef timer, void *info) {
    (void)timer;
    (void)info;
    if (calls == 0) first_fire = now();
    if (!goes_on() || calls % 16 != 0) return;
    int64_t time = now() - first_fire;
    if (time < time_limit) return;
    note("fires as many as the time allows; all would take minutes");
    // Before the first one it collects all that are due: each has its share of that.
    report("fire", (double)(first_fire - start_of_fires) / wanted + (double)time / calls);
    exit(0);
}

void measure_fire(long count, long limit) {
    fill_random(dates, count, timer_spread(count), 1);
    time_limit = limit * MILLISECOND;
    int64_t time = 0;
    for (long cycle = 0; cycle < timer_cycles(count); cycle++) {
        begin(count);
        // A date that has passed when the timer is made would become the time at which it is made.
        int64_t first = now() + timer_lead(count);
        make_timers(count, CFAbsoluteTimeGetCurrent() + timer_lead(count) / 1e9, fire);
        if (now() > first) note("some dates had passed before the timers were made");
        add_sorted(count);
        wait_until(first + timer_spread(count));
        start_of_fires = now();
        SInt32 result = CFRunLoopRunInMode(MODE, FOREVER, false);
        time += cycle_time(start_of_fires, cycle, count);
        expect(result == kCFRunLoopRunStopped || result == kCFRunLoopRunFinished, "the timers did not end the run");
        expect_count(calls, count);
        for (long index = 0; index < count; index++) CFRelease(timers[index]);
    }
    report("fire", (double)time / timed_operations(count));
}

void measure_life(long count, long extra) {
    (void)extra;
    begin(count);
    CFRunLoopTimerRef far = add_far_timer();
    int64_t start = now();
    for (long index = 0; index < count; index++) {
        CFRunLoopTimerRef timer = make_timer(CFAbsoluteTimeGetCurrent() + 1000, 0, ignore_timer);
        CFRunLoopAddTimer(loop, timer, MODE);
        CFRunLoopTimerInvalidate(timer);
        CFRelease(timer);
    }
    report("life", (double)(now() - start) / count);
    expect(CFRunLoopContainsTimer(loop, far, MODE), "the timer that stays is gone");
    drop_timer(far);
}

static void come_again(CFRunLoopTimerRef timer, void *info) {
    (void)info;
    if (goes_on()) CFRunLoopTimerSetNextFireDate(timer, CFAbsoluteTimeGetCurrent());
}

void measure_due(long count, long extra) {
    (void)extra;
    begin(count);
    CFRunLoopTimerRef timer = make_timer(CFAbsoluteTimeGetCurrent(), 1000, come_again);
    CFRunLoopAddTimer(loop, timer, MODE);
    run_and_report("due", count);
    drop_timer(timer);
}

static int64_t expected_fire;

static void note_lateness(CFRunLoopTimerRef timer, void *info) {
    (void)timer;
    (void)info;
    int64_t time = now();
    // A date that came after CFRunLoop had looked at the clock, and before this callout did, was taken for a missed one here.
    while (time < expected_fire - 3000) expected_fire -= MILLISECOND;
    dates[calls] = time - expected_fire;
    while (expected_fire <= time) expected_fire += MILLISECOND;
    goes_on();
}

void measure_lateness(long count, long extra) {
    (void)extra;
    begin(count);
    CFRunLoopTimerRef timer;
    int64_t made;
    // CFRunLoop reads two clocks to make a timer: whatever comes between them moves it.
    for (;;) {
        made = now();
        timer = make_timer(CFAbsoluteTimeGetCurrent() + 0.01, 0.001, note_lateness);
        if (now() - made < 10000) break;
        drop_timer(timer);
    }
    expected_fire = made + 10 * MILLISECOND;
    CFRunLoopAddTimer(loop, timer, MODE);
    CFRunLoopRunInMode(MODE, FOREVER, false);
    expect_count(calls, count);
    report_lateness(dates, count);
}
