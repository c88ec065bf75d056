// Where the text of an uncaught exception waits for the handler of the abort that follows. Ordinary code.

#include "terminate_text.h"

#include "async_state.h"

static void copy(char *destination, size_t size, const char *text) {
    size_t length = 0;
    while (length + 1 < size && text[length] != 0) {
        destination[length] = text[length];
        length += 1;
    }
    destination[length] = 0;
}

void hf_terminate_set_type(const char *text) {
    copy(hf_uncaught_exception.type, sizeof hf_uncaught_exception.type, text);
}

void hf_terminate_set_message(const char *text) {
    copy(hf_uncaught_exception.message, sizeof hf_uncaught_exception.message, text);
}
