// How wide characters are, as the C library knows.

#include "linux_shims.h"

#include <locale.h>
#include <pthread.h>
#include <wchar.h>

// Made once and never freed or changed.
static locale_t utf8;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_locale(void) { utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0); }

int hf_character_columns(uint32_t character) {
    pthread_once(&once, make_locale);
    if (utf8 == (locale_t)0) return -1;
    locale_t previous = uselocale(utf8);
    int columns = wcwidth((wchar_t)character);
    uselocale(previous);
    return columns;
}
