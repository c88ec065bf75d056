// The arguments of the process, where nobody can ask for them later: without proc(5).

#include "loaded_images.h"

static int kept_count;
static char **kept_arguments;

/// glibc hands what main is given to the constructors of a program, too (elf/dl-init.c, call_init; csu/libc-start.c).
__attribute__((constructor)) static void keep(int count, char **arguments) {
    kept_count = arguments != NULL ? count : 0;
    kept_arguments = arguments;
}

int hf_program_argument_count(void) { return kept_count; }

const char *hf_program_argument(int index) {
    return index >= 0 && index < kept_count ? kept_arguments[index] : NULL;
}
