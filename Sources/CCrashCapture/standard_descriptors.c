// Opens the standard three on nothing where they are closed, as glibc does for set-user-ID programs (csu/check_fds.c).
//
// What a program opens first would have their numbers, the loop's own descriptors among them: its log would go there, and a restart in
// place hands those numbers to the next process.
// Ordinary code, called before main.

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

__attribute__((constructor)) static void open_standard_descriptors(void) {
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor += 1) {
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) {
            // The lowest that is free, which is this one. In a container without devices nothing can be done.
            (void)open("/dev/null", O_RDWR);
        }
    }
}
