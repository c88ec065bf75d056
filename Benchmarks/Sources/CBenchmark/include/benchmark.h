// SPDX-License-Identifier: Apache-2.0
// What the programs that measure event loops share. Each is called with ROW COUNT [EXTRA] and prints lines of a name
// and a value. The rows are described in Documentation/Benchmarks.md.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SECOND 1000000000LL
#define MILLISECOND 1000000LL
// After which a program ends by SIGALRM.
#define MOST_SECONDS 120
// How many callouts go before a measurement, at most.
#define WARM_UP 300
// In the row of many descriptors: how many have events, and how many events go before the measurement.
#define ACTIVE 10
#define WARM_UP_EVENTS 100
// No peer holds more timers: more would not fit into a small machine's memory.
#define MOST_TIMERS 2000000

// A row: measures `count` operations and reports their mean in nanoseconds. `extra` is the row's own.
typedef struct {
    const char *name;
    void (*measure)(long count, long extra);
    // Whether it is measured once with few operations before it counts.
    bool warms_up;
} Row;

// Runs the row that the command line names, on a thread of its own. The last of `rows` has no name.
int run_rows(int argc, char **argv, const Row *rows);

// Prints a value, unless this is the warm-up.
void report(const char *name, double value);
// Prints what has to be said about the values.
void note(const char *text);
// Ends the program: what was to be measured did not happen.
_Noreturn void fail(const char *what);
void expect(bool condition, const char *what);
void expect_count(long found, long wanted);
// Says that the loop is entered now and ends when the process is killed.
void say_ready(void);

// CLOCK_MONOTONIC in nanoseconds.
int64_t now(void);
void wait_until(int64_t time);

// splitmix64: the same numbers in every program.
uint64_t next_random(uint64_t *state);
// Random numbers below `bound`.
void fill_random(int64_t *values, long count, int64_t bound, uint64_t seed);

// A nonblocking eventfd, with one event in it if wanted.
int make_event(bool is_ready);
void write_event(int descriptor);
void read_event(int descriptor);
// Lets the process open that many descriptors, or fails.
void allow_descriptors(long count);

// Pins the calling thread to one of the CPUs that the process may use: `index` modulo their number.
void pin(int index);

// Threads that all wait for a gate before they post.
typedef struct {
    void (*post)(void *);
    void *argument;
    long count;
} Poster;
typedef struct {
    pthread_t threads[16];
    Poster posters[16];
    int count;
} Posters;
// Makes `threads` threads that will call `post` `total` times in all. `total` must be a multiple of `threads`.
void make_posters(Posters *posters, int threads, long total, void (*post)(void *), void *argument);
// Opens their gate.
void open_gate(void);
void join_posters(Posters *posters);

// The rows of many timers: how often a row is repeated in one measurement; if it is repeated, the first time is the warm-up.
long timer_cycles(long count);
// The time since `start` if this cycle counts, else 0.
int64_t cycle_time(int64_t start, long cycle, long count);
// How many timers the cycles that count have had in all.
long timed_operations(long count);
// How long before they are due timers are made, and over what time their dates are spread, in nanoseconds.
int64_t timer_lead(long count);
int64_t timer_spread(long count);

// Reports the median and the 99th percentile of the lateness of a timer, in microseconds, from nanoseconds.
void report_lateness(int64_t *lateness, long count);
