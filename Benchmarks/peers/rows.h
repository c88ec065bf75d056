// SPDX-License-Identifier: Apache-2.0
// The rows, written once for all loops. A peer is one file that includes peer.h, says the following, and then includes this:
//
//     Loop, make_loop, free_loop, run, stop            `loop` is the one that is measured
//     Source, add_source, signal_source, drop_source   what other code makes ready; ON_SIGNAL begins its callout
//     Port, add_port, drop_port                        a descriptor; ON_READY begins its callout, TAKE_EVENT reads it
//     Timer, add_far_timer, drop_timer, is_active      the far one does not fire; ON_TIMER begins a timer's callout
//     DONE                                             ends a callout that stays
//     begin_blocks, end_blocks, post_block, post_own   blocks from any thread, and blocks that post the next
//     poll_once, prepare_slices, run_slice, live, start_due, start_lateness, measure_pass
//     post_waiting                                     a block that waits until the loop runs, posted on the loop's own thread
//     HAS_MODES, measure_modes                         if it has modes
//     make_timers, add_timers, cancel_timer, free_timers, add_due_timers, or HAS_OWN_TIMER_ROWS with these rows
//
// A peer that says IS_KERNEL_ONLY leaves out what the kernel has no part in: is_active, blocks, live, start_due, measure_pass, many timers.
//
// Callouts are macros and all of it is one file, so that nothing stands between a loop and its callouts.
#pragma once

static bool goes_on(void) {
    if (++calls < wanted) return true;
    stop(loop);
    return false;
}

static void begin(long count) {
    loop = make_loop();
    calls = 0;
    wanted = count;
}

static void end(void) { free_loop(loop); }

static void run_and_report(const char *name, long count) {
    int64_t start = now();
    run(loop);
    int64_t end_of_run = now();
    expect_count(calls, count);
    report(name, (double)(end_of_run - start) / count);
}

// --- Passes -----------------------------------------------------------------------------------------------------------

static void measure_poll(long count, long extra) {
    begin(count);
    Timer timer;
    add_far_timer(&timer);
    int64_t start = now();
    for (long index = 0; index < count; index++) {
        if (!poll_once()) fail("an idle poll was not one");
    }
    report("poll", (double)(now() - start) / count);
    drop_timer(&timer);
    end();
}

ON_SIGNAL(count_call) {
    calls++;
    DONE;
}

static void measure_slice(long count, long extra) {
    begin(count);
    Source source;
    add_source(loop, &source, count_call);
    prepare_slices();
    int64_t start = now();
    for (long index = 0; index < count; index++) run_slice(&source);
    int64_t end_of_slices = now();
    expect_count(calls, count);
    report("slice", (double)(end_of_slices - start) / count);
    drop_source(&source);
    end();
}

ON_SIGNAL(fail_source) { fail("an idle source was served"); }

static Source pair[2];

ON_SIGNAL(signal_second) {
    if (goes_on()) signal_source(&pair[1]);
    DONE;
}

ON_SIGNAL(signal_first) {
    if (goes_on()) signal_source(&pair[0]);
    DONE;
}

static void measure_signal(long count, long extra) {
    begin(count);
    add_source(loop, &pair[0], signal_second);
    add_source(loop, &pair[1], signal_first);
    signal_source(&pair[0]);
    run_and_report("signal", count);
    drop_source(&pair[0]);
    drop_source(&pair[1]);
    end();
}

// The same beside others that nobody signals.
static void measure_sources(long count, long idle) {
#ifdef IS_KERNEL_ONLY
    allow_descriptors(idle + 100);
#endif
    begin(count);
    Source *others = calloc(idle, sizeof *others);
    for (long index = 0; index < idle; index++) add_source(loop, &others[index], fail_source);
    add_source(loop, &pair[0], signal_second);
    add_source(loop, &pair[1], signal_first);
    signal_source(&pair[0]);
    run_and_report("sources", count);
    // Dropping a million takes some loops minutes.
    exit(0);
}

// --- Blocks -----------------------------------------------------------------------------------------------------------

#ifndef IS_KERNEL_ONLY
static int64_t start_of_posts;

ON_SIGNAL(start_posts) {
    start_of_posts = now();
    open_gate();
    DONE;
}

// From the moment in which the threads begin to that of the last callout.
static void measure_posts(const char *name, long count, long threads, void (*post)(void *)) {
    Posters posters;
    Source starter;
    add_source(loop, &starter, start_posts);
    signal_source(&starter);
    make_posters(&posters, threads, count, post, NULL);
    run(loop);
    int64_t end_of_posts = now();
    join_posters(&posters);
    expect_count(calls, count);
    report(name, (double)(end_of_posts - start_of_posts) / count);
    drop_source(&starter);
}

static void measure_blocks(long count, long threads) {
    count = count / threads * threads;
    begin_blocks(count);
    measure_posts("blocks", count, threads, post_block);
    end_blocks();
}

// Values from other threads for one function: a list and a source, as none of the loops has a queue of its own.
typedef struct Command {
    struct Command *next;
    long value;
} Command;
static pthread_mutex_t commands_lock = PTHREAD_MUTEX_INITIALIZER;
static Command *first_command;
static Command **last_command = &first_command;
static Source commands_source;

static void send_command(void *argument) {
    Command *command = malloc(sizeof *command);
    *command = (Command){.value = 1};
    pthread_mutex_lock(&commands_lock);
    *last_command = command;
    last_command = &command->next;
    pthread_mutex_unlock(&commands_lock);
    signal_source(&commands_source);
}

ON_SIGNAL(take_commands) {
    pthread_mutex_lock(&commands_lock);
    Command *command = first_command;
    first_command = NULL;
    last_command = &first_command;
    pthread_mutex_unlock(&commands_lock);
    while (command) {
        Command *next = command->next;
        if (command->value == 1) goes_on();
        free(command);
        command = next;
    }
    DONE;
}

static void measure_commands(long count, long threads) {
    count = count / threads * threads;
    begin(count);
    add_source(loop, &commands_source, take_commands);
    measure_posts("commands", count, threads, send_command);
    drop_source(&commands_source);
    end();
}

static void measure_waiting(long count, long extra) {
    begin_blocks(count);
    int64_t start = now();
    for (long index = 0; index < count; index++) post_waiting();
    run(loop);
    int64_t end_of_run = now();
    expect_count(calls, count);
    report("waiting", (double)(end_of_run - start) / count);
    end_blocks();
}

static void measure_own_blocks(long count, long extra) {
    begin_blocks(count);
    post_own();
    run_and_report("own-block", count);
    end_blocks();
}
#endif

// --- Ports ------------------------------------------------------------------------------------------------------------

ON_READY(write_again) {
    TAKE_EVENT;
    if (goes_on()) write_event(descriptor);
    DONE;
}

ON_READY(fail_port) { fail("an idle descriptor was served"); }

static void measure_port(long count, long extra) {
    begin(count);
    int descriptor = make_event(true);
    Port port;
    add_port(&port, &descriptor, write_again);
    run_and_report("port", count);
    drop_port(&port);
    end();
    close(descriptor);
}

static int *active;
static int64_t start_of_events;

ON_READY(serve_active) {
    TAKE_EVENT;
    if (calls == WARM_UP_EVENTS) start_of_events = now();
    if (!goes_on() || calls % ACTIVE != 0) DONE;
    for (long index = 0; index < ACTIVE; index++) write_event(active[index]);
    DONE;
}

static void measure_descriptors(long count, long idle) {
    allow_descriptors(idle + 100);
    begin(WARM_UP_EVENTS + count);
    int *descriptors = calloc(idle + ACTIVE, sizeof *descriptors);
    Port *ports = calloc(idle + ACTIVE, sizeof *ports);
    active = descriptors + idle;
    for (long index = 0; index < idle + ACTIVE; index++) {
        descriptors[index] = make_event(index >= idle);
        add_port(&ports[index], &descriptors[index], index < idle ? fail_port : serve_active);
    }
    run(loop);
    int64_t end_of_events = now();
    expect_count(calls, WARM_UP_EVENTS + count);
    report("descriptors", (double)(end_of_events - start_of_events) / count);
    exit(0);
}

// --- Two threads ------------------------------------------------------------------------------------------------------

static Loop other_loop;
static pthread_barrier_t both_ready;

// Each loop is stopped by its own thread, for not all can be by another.
ON_SIGNAL(answer) {
    if (calls < wanted) {
        signal_source(&pair[0]);
    } else {
        stop(other_loop);
    }
    DONE;
}

ON_SIGNAL(ask_again) {
    goes_on();
    signal_source(&pair[1]);
    DONE;
}

static void *run_other(void *argument) {
    pin(1);
    other_loop = make_loop();
    add_source(other_loop, &pair[1], answer);
    signal_source(&pair[1]);
    pthread_barrier_wait(&both_ready);
    run(other_loop);
    drop_source(&pair[1]);
    free_loop(other_loop);
    return NULL;
}

static void measure_trip(long count, long extra) {
    begin(count);
    pin(0);
    add_source(loop, &pair[0], ask_again);
    pthread_barrier_init(&both_ready, NULL, 2);
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_other, NULL)) fail("no thread");
    pthread_barrier_wait(&both_ready);
    run_and_report("trip", count);
    pthread_join(thread, NULL);
    drop_source(&pair[0]);
    end();
}

// --- Timers -----------------------------------------------------------------------------------------------------------

#if !defined(HAS_OWN_TIMER_ROWS) && !defined(IS_KERNEL_ONLY)
static void measure_add(long count, long limit) {
    fill_random(dates, count, DATES_ADDED, 1);
    int64_t time = 0;
    for (long cycle = 0; cycle < timer_cycles(count); cycle++) {
        begin(count);
        make_timers(count);
        int64_t start = now();
        add_timers(count);
        time += cycle_time(start, cycle, count);
        expect(is_active(&timers[count - 1]), "a timer was not added");
        free_timers(count);
        end();
    }
    report("add", (double)time / timed_operations(count));
}

static void measure_cancel(long count, long limit) {
    fill_random(dates, count, DATES_ADDED, 1);
    int64_t time = 0;
    for (long cycle = 0; cycle < timer_cycles(count); cycle++) {
        begin(count);
        make_timers(count);
        add_timers(count);
        int64_t start = now();
        for (long index = 0; index < count; index++) cancel_timer(&timers[index]);
        time += cycle_time(start, cycle, count);
        expect(!is_active(&timers[count - 1]), "a timer was not cancelled");
        free_timers(count);
        end();
    }
    report("cancel", (double)time / timed_operations(count));
}

static void measure_fire(long count, long limit) {
    int64_t time = 0;
    for (long cycle = 0; cycle < timer_cycles(count); cycle++) {
        begin(count);
        add_due_timers(count);
        int64_t start = now();
        run(loop);
        time += cycle_time(start, cycle, count);
        expect_count(calls, count);
        free_timers(count);
        end();
    }
    report("fire", (double)time / timed_operations(count));
}
#endif

#ifndef IS_KERNEL_ONLY
static void measure_life(long count, long extra) {
    begin(count);
    Timer far;
    add_far_timer(&far);
    int64_t start = now();
    for (long index = 0; index < count; index++) live(index);
    report("life", (double)(now() - start) / count);
    expect(is_active(&far), "the timer that stays is gone");
    drop_timer(&far);
    end();
}

static void measure_due(long count, long extra) {
    begin(count);
    Timer timer;
    start_due(&timer);
    run_and_report("due", count);
    drop_timer(&timer);
    end();
}
#endif

static void measure_lateness(long count, long extra) {
    begin(count);
    Timer timer;
    start_lateness(&timer);
    run(loop);
    expect_count(calls, count);
    report_lateness(dates, count);
    drop_timer(&timer);
    end();
}

// --- Nothing to do ----------------------------------------------------------------------------------------------------

static void stay_idle(long count, long extra) {
    begin(count);
    int descriptor = make_event(false);
    Port port;
    Source source;
    Timer timer;
    add_port(&port, &descriptor, fail_port);
    add_source(loop, &source, count_call);
    add_far_timer(&timer);
    say_ready();
    run(loop);
    fail("an idle loop ended");
}

int main(int argc, char **argv) {
    static const Row rows[] = {
        {"poll", measure_poll, true},
        {"slice", measure_slice, true},
        {"signal", measure_signal, true},
        {"sources", measure_sources, false},
        {"port", measure_port, true},
        {"descriptors", measure_descriptors, false},
        {"trip", measure_trip, true},
        {"lateness", measure_lateness, false},
        {"idle", stay_idle, false},
#ifndef IS_KERNEL_ONLY
        {"pass", measure_pass, true},
        {"blocks", measure_blocks, true},
        {"commands", measure_commands, true},
        {"own-block", measure_own_blocks, true},
        {"waiting", measure_waiting, true},
        {"add", measure_add, false},
        {"cancel", measure_cancel, false},
        {"fire", measure_fire, false},
        {"life", measure_life, true},
        {"due", measure_due, true},
#endif
#ifdef HAS_MODES
        {"modes", measure_modes, false},
#endif
        {0},
    };
    return run_rows(argc, argv, rows);
}
