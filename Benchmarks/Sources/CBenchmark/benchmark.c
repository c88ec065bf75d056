// SPDX-License-Identifier: Apache-2.0
#include "benchmark.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

static bool warming_up;

// --- Rows -------------------------------------------------------------------------------------------------------------

typedef struct {
    const Row *row;
    long count;
    long extra;
} Measurement;

static void *measure(void *argument) {
    const Measurement *measurement = argument;
    if (measurement->row->warms_up) {
        warming_up = true;
        measurement->row->measure(measurement->count < WARM_UP ? measurement->count : WARM_UP, measurement->extra);
        warming_up = false;
    }
    measurement->row->measure(measurement->count, measurement->extra);
    return NULL;
}

int run_rows(int argc, char **argv, const Row *rows) {
    if (argc < 3) fail("usage: ROW COUNT [EXTRA]");
    setvbuf(stdout, NULL, _IOLBF, 0);
    Measurement measurement = {.count = atol(argv[2]), .extra = argc > 3 ? atol(argv[3]) : 0};
    if (measurement.count <= 0) fail("COUNT must be positive");
    for (const Row *row = rows; row->name; row++) {
        if (strcmp(row->name, argv[1]) == 0) measurement.row = row;
    }
    if (!measurement.row) fail("no such row");
    // Ends a program that hangs.
    alarm(MOST_SECONDS);
    // Not the main thread: there CFRunLoop also serves the main dispatch queue.
    pthread_t thread;
    if (pthread_create(&thread, NULL, measure, &measurement)) fail("no thread");
    pthread_join(thread, NULL);
    return 0;
}

void report(const char *name, double value) {
    if (!warming_up) printf("%s %.3f\n", name, value);
}

void note(const char *text) {
    if (!warming_up) printf("note: %s\n", text);
}

void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

void expect(bool condition, const char *what) {
    if (!condition) fail(what);
}

void expect_count(long found, long wanted) {
    if (found == wanted) return;
    fprintf(stderr, "%ld callouts instead of %ld\n", found, wanted);
    exit(1);
}

void say_ready(void) { printf("ready\n"); }

// --- Time and chance --------------------------------------------------------------------------------------------------

int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

void wait_until(int64_t time) {
    while (now() <= time) {}
}

uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

void fill_random(int64_t *values, long count, int64_t bound, uint64_t seed) {
    for (long index = 0; index < count; index++) values[index] = next_random(&seed) % bound;
}

// --- Descriptors ------------------------------------------------------------------------------------------------------

int make_event(bool is_ready) {
    int descriptor = eventfd(is_ready, EFD_NONBLOCK | EFD_CLOEXEC);
    if (descriptor < 0) fail("no eventfd");
    return descriptor;
}

void write_event(int descriptor) {
    uint64_t one = 1;
    if (write(descriptor, &one, sizeof one) != sizeof one) fail("cannot write an eventfd");
}

void read_event(int descriptor) {
    uint64_t value;
    if (read(descriptor, &value, sizeof value) != sizeof value) fail("an eventfd was not ready");
}

void allow_descriptors(long count) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    // Root may, up to fs.nr_open.
    if ((rlim_t)count > limit.rlim_max && geteuid() == 0) limit.rlim_max = count;
    if ((rlim_t)count > limit.rlim_max) fail("the limit of descriptors (ulimit -Hn) is too low");
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit)) fail("cannot raise the limit of descriptors");
}

// --- Threads ----------------------------------------------------------------------------------------------------------

void pin(int index) {
    static cpu_set_t allowed;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    // The process' own set, before any of its threads was pinned.
    if (CPU_COUNT(&allowed) == 0) sched_getaffinity(getpid(), sizeof allowed, &allowed);
    pthread_mutex_unlock(&lock);
    index %= CPU_COUNT(&allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || index-- > 0) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (pthread_setaffinity_np(pthread_self(), sizeof one, &one)) fail("cannot pin a thread");
        return;
    }
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_changed = PTHREAD_COND_INITIALIZER;
static bool gate_is_open;

static void *run_poster(void *argument) {
    const Poster *poster = argument;
    pin(1);
    pthread_mutex_lock(&gate);
    while (!gate_is_open) pthread_cond_wait(&gate_changed, &gate);
    pthread_mutex_unlock(&gate);
    for (long index = 0; index < poster->count; index++) poster->post(poster->argument);
    return NULL;
}

void make_posters(Posters *posters, int threads, long total, void (*post)(void *), void *argument) {
    expect(threads > 0 && threads <= 16 && total % threads == 0, "the posts cannot be shared out");
    gate_is_open = false;
    posters->count = threads;
    pin(0);
    for (int index = 0; index < threads; index++) {
        posters->posters[index] = (Poster){.post = post, .argument = argument, .count = total / threads};
        if (pthread_create(&posters->threads[index], NULL, run_poster, &posters->posters[index])) fail("no thread");
    }
}

void open_gate(void) {
    pthread_mutex_lock(&gate);
    gate_is_open = true;
    pthread_cond_broadcast(&gate_changed);
    pthread_mutex_unlock(&gate);
}

void join_posters(Posters *posters) {
    for (int index = 0; index < posters->count; index++) pthread_join(posters->threads[index], NULL);
}

// --- Many timers ------------------------------------------------------------------------------------------------------

// A few timers are measured so often that the clock's own time does not count.
long timer_cycles(long count) { return count > 10000 ? 1 : count < 1000 ? 1 + 20000 / count : 21; }

int64_t cycle_time(int64_t start, long cycle, long count) {
    int64_t time = now() - start;
    return timer_cycles(count) > 1 && cycle == 0 ? 0 : time;
}

long timed_operations(long count) { return timer_cycles(count) > 1 ? (timer_cycles(count) - 1) * count : count; }

// Making and adding a timer takes less than this.
int64_t timer_lead(long count) { return MILLISECOND + count * 2000; }

int64_t timer_spread(long count) { return MILLISECOND + count * 100; }

// --- Lateness ---------------------------------------------------------------------------------------------------------

static int ascending(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

void report_lateness(int64_t *lateness, long count) {
    qsort(lateness, count, sizeof *lateness, ascending);
    // CFAbsoluteTimeGetCurrent cuts off what is less than a microsecond, twice in the date of a timer.
    expect(lateness[0] >= -3000, "a timer fired early");
    report("median", lateness[count / 2] / 1e3);
    report("p99", lateness[count * 99 / 100] / 1e3);
}
