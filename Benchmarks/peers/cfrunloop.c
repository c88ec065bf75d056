// SPDX-License-Identifier: Apache-2.0
// The toolchain's CFRunLoop, which is in libFoundation.
#include <CoreFoundation/CFRunLoop.h>

#include "peer.h"

#define MODE kCFRunLoopDefaultMode
#define FOREVER 1e10

typedef CFRunLoopRef Loop;
typedef struct {
    CFRunLoopSourceRef source;
    CFRunLoopRef loop;
} Source;
typedef CFRunLoopSourceRef Port;
typedef CFRunLoopTimerRef Timer;

#define ON_SIGNAL(name) static void name(void *info)
#define ON_READY(name) static void name(void *info)
#define ON_TIMER(name) static void name(CFRunLoopTimerRef timer, void *info)
#define DONE return
// CFRunLoop has read the eventfd already.
#define TAKE_EVENT \
    int descriptor = *(int *)info; \
    (void)descriptor

static Loop loop;

static Loop make_loop(void) { return CFRunLoopGetCurrent(); }
static void free_loop(Loop loop) {}
static void stop(Loop loop) { CFRunLoopStop(loop); }

static void run(Loop loop) {
    expect(CFRunLoopRunInMode(MODE, FOREVER, false) == kCFRunLoopRunStopped, "the run was not stopped");
}

// --- Sources ----------------------------------------------------------------------------------------------------------

static void add_source(Loop to, Source *source, void (*perform)(void *)) {
    // A loop keeps one of sources that are equal: of the same functions and information (CFRunLoop.c, __CFRunLoopSourceEqual).
    CFRunLoopSourceContext context = {.perform = perform, .info = source};
    *source = (Source){.source = CFRunLoopSourceCreate(NULL, 0, &context), .loop = to};
    CFRunLoopAddSource(to, source->source, MODE);
}

static void signal_source(Source *source) {
    CFRunLoopSourceSignal(source->source);
    CFRunLoopWakeUp(source->loop);
}

static void drop_port(Port *port) {
    CFRunLoopSourceInvalidate(*port);
    CFRelease(*port);
}

static void drop_source(Source *source) { drop_port(&source->source); }

static __CFPort port_of(void *info) { return *(int *)info; }

static void add_port(Port *port, int *descriptor, void (*perform)(void *)) {
    CFRunLoopSourceContext1 context = {.version = 1, .info = descriptor, .getPort = port_of, .perform = perform};
    *port = CFRunLoopSourceCreate(NULL, 0, (CFRunLoopSourceContext *)&context);
    CFRunLoopAddSource(loop, *port, MODE);
}

static Source again;

ON_SIGNAL(signal_self) {
    if (goes_on()) CFRunLoopSourceSignal(again.source);
}

static void measure_pass(long count, long extra) {
    begin(count);
    add_source(loop, &again, signal_self);
    CFRunLoopSourceSignal(again.source);
    run_and_report("pass", count);
    drop_source(&again);
}

static bool poll_once(void) { return CFRunLoopRunInMode(MODE, 0, false) == kCFRunLoopRunTimedOut; }

static void prepare_slices(void) {}

static void run_slice(Source *source) {
    CFRunLoopSourceSignal(source->source);
    if (CFRunLoopRunInMode(MODE, 10, true) != kCFRunLoopRunHandledSource) fail("a slice did not serve its source");
}

#define HAS_MODES

static void count_run(void *info) { calls++; }

// A signal and a run in each of many modes in turn, all of which have a source.
static void measure_modes(long count, long modes) {
    begin(count);
    CFStringRef *names = calloc(modes, sizeof *names);
    Source *sources = calloc(modes, sizeof *sources);
    CFRunLoopSourceContext context = {.perform = count_run};
    for (long index = 0; index < modes; index++) {
        names[index] = CFStringCreateWithFormat(NULL, NULL, CFSTR("mode %ld"), index);
        sources[index] = (Source){.source = CFRunLoopSourceCreate(NULL, 0, &context), .loop = loop};
        CFRunLoopAddSource(loop, sources[index].source, names[index]);
    }
    int64_t start = now();
    for (long index = 0; index < count; index++) {
        CFRunLoopSourceSignal(sources[index % modes].source);
        SInt32 result = CFRunLoopRunInMode(names[index % modes], 10, true);
        expect(result == kCFRunLoopRunHandledSource, "a run did not serve its source");
    }
    int64_t end_of_runs = now();
    expect_count(calls, count);
    report("modes", (double)(end_of_runs - start) / count);
    exit(0);
}

// --- Blocks -----------------------------------------------------------------------------------------------------------

// A mode without anything is not run.
static Source keeper;

ON_SIGNAL(ignore) {}

static void begin_blocks(long count) {
    begin(count);
    add_source(loop, &keeper, ignore);
}

static void end_blocks(void) { drop_source(&keeper); }

static void post_block(void *argument) {
    CFRunLoopPerformBlock(loop, MODE, ^{ goes_on(); });
    CFRunLoopWakeUp(loop);
}

static void post_waiting(void) { post_block(NULL); }

static void post_own(void) {
    CFRunLoopPerformBlock(loop, MODE, ^{
        if (goes_on()) post_own();
    });
    CFRunLoopWakeUp(loop);
}

// --- Timers -----------------------------------------------------------------------------------------------------------

static Timer timers[MOST_TIMERS];
static long places[MOST_TIMERS];

static Timer make_timer(CFAbsoluteTime date, double interval, CFRunLoopTimerCallBack callback) {
    CFRunLoopTimerContext context = {0};
    return CFRunLoopTimerCreate(NULL, date, interval, 0, 0, callback, &context);
}

static void drop_timer(Timer *timer) {
    CFRunLoopTimerInvalidate(*timer);
    CFRelease(*timer);
}

static bool is_active(Timer *timer) { return CFRunLoopContainsTimer(loop, *timer, MODE); }

ON_TIMER(ignore_timer) {}

static void add_far_timer(Timer *timer) {
    *timer = make_timer(CFAbsoluteTimeGetCurrent() + 1000, 0, ignore_timer);
    CFRunLoopAddTimer(loop, *timer, MODE);
}

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

#define HAS_OWN_TIMER_ROWS

// Adds timers from `first` on, or cancels them, of `count` of which the loop holds so many already. A sample ends with the time.
static inline void measure_each(const char *name, bool adds, bool is_sample, long count, long held, long limit) {
    if (is_sample) note("does as many as the time allows with a loop that holds half of them; all would take minutes");
    begin(count);
    fill_random(dates, count, 1000 * SECOND, 1);
    long first = adds ? held : 0;
    int64_t time = 0;
    for (long cycle = 0; cycle < timer_cycles(count); cycle++) {
        make_timers(count, CFAbsoluteTimeGetCurrent() + 1000, ignore_timer);
        add_sorted(held);
        long done = first;
        int64_t start = now(), deadline = start + limit * MILLISECOND;
        while (done < count && (!is_sample || done % 16 != 0 || now() < deadline)) {
            if (adds) {
                CFRunLoopAddTimer(loop, timers[done++], MODE);
            } else {
                CFRunLoopTimerInvalidate(timers[done++]);
            }
        }
        time += cycle_time(start, cycle, count);
        expect(is_active(&timers[done - 1]) == adds, "a timer was not added, or not cancelled");
        if (is_sample || cycle + 1 == timer_cycles(count)) {
            report(name, (double)time / (is_sample ? done - first : timed_operations(count)));
            exit(0);
        }
        for (long index = 0; index < count; index++) drop_timer(&timers[index]);
    }
}

// Adding is linear in what the loop holds: above this number, a part of the timers is added to a loop that holds half.
#define MOST_TO_ADD 200000
// The same for cancelling.
#define MOST_TO_CANCEL 20000

static void measure_add(long count, long limit) {
    bool is_sample = count > MOST_TO_ADD;
    measure_each("add", true, is_sample, count, is_sample ? count / 2 : 0, limit);
}

static void measure_cancel(long count, long limit) {
    bool is_sample = count > MOST_TO_CANCEL;
    if (is_sample) count /= 2;
    measure_each("cancel", false, is_sample, count, count, limit);
}

static int64_t start_of_fires;
static int64_t first_fire;
static int64_t time_limit;

ON_TIMER(fire) {
    if (calls == 0) first_fire = now();
    if (!goes_on() || calls % 16 != 0) return;
    int64_t time = now() - first_fire;
    if (time < time_limit) return;
    note("fires as many as the time allows; all would take minutes");
    // Before the first one it collects all that are due: each has its share of that.
    report("fire", (double)(first_fire - start_of_fires) / wanted + (double)time / calls);
    exit(0);
}

static void measure_fire(long count, long limit) {
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

static void live(long index) {
    Timer timer;
    add_far_timer(&timer);
    drop_timer(&timer);
}

ON_TIMER(come_again) {
    if (goes_on()) CFRunLoopTimerSetNextFireDate(timer, CFAbsoluteTimeGetCurrent());
}

static void start_due(Timer *timer) {
    *timer = make_timer(CFAbsoluteTimeGetCurrent(), 1000, come_again);
    CFRunLoopAddTimer(loop, *timer, MODE);
}

static int64_t expected_fire;

ON_TIMER(note_lateness) {
    int64_t time = now();
    // A date that came after CFRunLoop had looked at the clock, and before this callout did, was taken for a missed one here.
    while (time < expected_fire - 3000) expected_fire -= MILLISECOND;
    dates[calls] = time - expected_fire;
    while (expected_fire <= time) expected_fire += MILLISECOND;
    goes_on();
}

static void start_lateness(Timer *timer) {
    int64_t made;
    // CFRunLoop reads two clocks to make a timer: whatever comes between them moves it.
    for (;;) {
        made = now();
        *timer = make_timer(CFAbsoluteTimeGetCurrent() + 0.01, 0.001, note_lateness);
        if (now() - made < 10000) break;
        drop_timer(timer);
    }
    expected_fire = made + 10 * MILLISECOND;
    CFRunLoopAddTimer(loop, *timer, MODE);
}

#include "rows.h"
