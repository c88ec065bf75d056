// Finding what the Swift runtime said of a fault among what it has said before.
//
// The runtime puts each text behind the ones before it, with nothing between them (swift/stdlib/public/runtime/Errors.cpp,
// reportOnCrash). Swift 6.3 on Linux puts one text there after which nothing faults: that a checked continuation was leaked
// (CheckedContinuation.swift, CheckedContinuationCanary). Its other warnings only go to stderr (swift::warning). So what is between two
// leaks, or behind the last one, is the text of a fault, with all of its lines.
//
// Whose fault is not said anywhere. If two threads are about to fault, and both texts are there before the first handler runs, they cannot
// be told apart, nor can one that other code put there by swift_reportError without ending the process. The program counter does not help:
// for some texts it is the program that traps (swift_isEscapingClosureAtFileLocation).

#include "async_state.h"
#include "crash_capture.h"

/// A leak is one line, with the name of a function between these words.
static const char leak_start[] = "SWIFT TASK CONTINUATION MISUSE: ";
static const char leak_words[] = "leaked its continuation";

/// A line, as far as it is read.
typedef struct Line {
    uint64_t start;
    /// How much of `leak_start` it begins with, as long as it does.
    size_t begun;
    bool is_other;
    /// How much of `leak_words` was read last.
    size_t found;
} Line;

static void read_character(Line *line, char character) {
    if (line->is_other) {
        return;
    }
    if (line->begun < sizeof leak_start - 1) {
        line->is_other = character != leak_start[line->begun];
        line->begun += 1;
        return;
    }
    if (line->found == sizeof leak_words - 1) {
        return;
    }
    if (character == leak_words[line->found]) {
        line->found += 1;
    } else {
        // The first letter is nowhere else in the words: there is no other place to begin at.
        line->found = character == leak_words[0] ? 1 : 0;
    }
}

static bool is_leak(const Line *line) {
    return !line->is_other && line->begun == sizeof leak_start - 1 && line->found == sizeof leak_words - 1;
}

/// The part of the text that is looked for: [start, end), empty if there is none.
typedef struct Part {
    uint64_t start;
    uint64_t end;
    /// Whether the line before the one that is read belongs to it.
    bool is_open;
} Part;

static void end_line(Part *part, const Line *line, uint64_t end) {
    if (is_leak(line)) {
        part->is_open = false;
        return;
    }
    if (!part->is_open) {
        part->start = line->start;
        part->is_open = true;
    }
    part->end = end;
}

size_t hf_async_copy_fatal_error(char *destination, size_t size, const char *text) {
    char piece[256];
    uint64_t place = (uint64_t)text;
    Line line = {.start = place};
    Part part = {0};
    size_t count;
    do {
        count = hf_async_copy_text(piece, sizeof piece, place);
        for (size_t i = 0; i < count; i += 1) {
            place += 1;
            read_character(&line, piece[i]);
            if (piece[i] == '\n') {
                end_line(&part, &line, place);
                line = (Line){.start = place};
            }
        }
    } while (count == sizeof piece - 1);
    if (place > line.start) {
        end_line(&part, &line, place);
    }
    uint64_t length = part.end - part.start;
    return hf_async_copy_text(destination, length < size ? length + 1 : size, part.start);
}
