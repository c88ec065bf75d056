// SPDX-License-Identifier: Apache-2.0
// Passes, and what all rows need.
#include "loop.h"

CFRunLoopRef loop;

// Counts a callout, ends the run with the last, and says whether there are more to come.
bool goes_on(void) {
    if (++calls < wanted) return true;
    CFRunLoopStop(loop);
    return false;
}

void begin(long count) {
    loop = CFRunLoopGetCurrent();
    calls = 0;
    wanted = count;
}

// Runs until the last callout and reports the time of each.
void run_and_report(const char *name, long count) {
    int64_t start = now();
    SInt32 result = CFRunLoopRunInMode(MODE, FOREVER, false);
    int64_t end = now();
    expect(result == kCFRunLoopRunStopped, "the run was not stopped");
    expect_count(calls, count);
    report(name, (double)(end - start) / count);
}

CFRunLoopSourceRef add_source(CFRunLoopRef to, void (*perform)(void *), void *info) {
    CFRunLoopSourceContext context = {.info = info, .perform = perform};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(to, source, MODE);
    return source;
}

void drop_source(CFRunLoopSourceRef source) {
    CFRunLoopSourceInvalidate(source);
    CFRelease(source);
}

void ignore(void *info) { (void)info; }

CFRunLoopTimerRef make_timer(CFAbsoluteTime date, double interval, CFRunLoopTimerCallBack callback) {
    CFRunLoopTimerContext context = {0};
    return CFRunLoopTimerCreate(NULL, date, interval, 0, 0, callback, &context);
}

void drop_timer(CFRunLoopTimerRef timer) {
    CFRunLoopTimerInvalidate(timer);
    CFRelease(timer);
}

void ignore_timer(CFRunLoopTimerRef timer, void *info) {
    (void)timer;
    (void)info;
}

CFRunLoopTimerRef add_far_timer(void) {
    CFRunLoopTimerRef timer = make_timer(CFAbsoluteTimeGetCurrent() + 1000, 0, ignore_timer);
    CFRunLoopAddTimer(loop, timer, MODE);
    return timer;
}

// --- Passes -----------------------------------------------------------------------------------------------------------

static CFRunLoopSourceRef pair[2];

static void signal_self(void *info) {
    (void)info;
    if (goes_on()) CFRunLoopSourceSignal(pair[0]);
}

void measure_pass(long count, long extra) {
    (void)extra;
    begin(count);
    pair[0] = add_source(loop, signal_self, NULL);
    CFRunLoopSourceSignal(pair[0]);
    run_and_report("pass", count);
    drop_source(pair[0]);
}

void measure_poll(long count, long extra) {
    (void)extra;
    begin(count);
    CFRunLoopTimerRef timer = add_far_timer();
    int64_t start = now();
    for (long index = 0; index < count; index++) {
        if (CFRunLoopRunInMode(MODE, 0, false) != kCFRunLoopRunTimedOut) fail("an idle poll was not over at once");
    }
    report("poll", (double)(now() - start) / count);
    drop_timer(timer);
}

static void count_call(void *info) {
    (void)info;
    calls++;
}

void measure_slice(long count, long extra) {
    (void)extra;
    begin(count);
    CFRunLoopSourceRef source = add_source(loop, count_call, NULL);
    int64_t start = now();
    for (long index = 0; index < count; index++) {
        CFRunLoopSourceSignal(source);
        if (CFRunLoopRunInMode(MODE, 10, true) != kCFRunLoopRunHandledSource) fail("a slice did not serve its source");
    }
    int64_t end = now();
    expect_count(calls, count);
    report("slice", (double)(end - start) / count);
    drop_source(source);
}

static void signal_other(void *info) {
    if (!goes_on()) return;
    CFRunLoopSourceSignal(*(CFRunLoopSourceRef *)info);
    CFRunLoopWakeUp(loop);
}

void measure_signal(long count, long extra) {
    (void)extra;
    begin(count);
    pair[0] = add_source(loop, signal_other, &pair[1]);
    pair[1] = add_source(loop, signal_other, &pair[0]);
    CFRunLoopSourceSignal(pair[0]);
    run_and_report("signal", count);
    drop_source(pair[0]);
    drop_source(pair[1]);
}
