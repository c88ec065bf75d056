// An epoll instance watches a file, not a number (epoll(7), "Questions and answers"). NIO registers a server's socket before it binds it, so
// when another file takes the number, the instances have to be told. What they watch is in proc_pid_fdinfo(5).

#include "epoll_move.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

bool hf_epoll_each(int epoll, void (*call)(void *, int, uint64_t, uint32_t, uint64_t), void *context) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", epoll);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    char line[256];
    while (fgets(line, sizeof line, file) != NULL) {
        int watched;
        unsigned events;
        unsigned long long data;
        unsigned long long inode;
        // fs/eventpoll.c, ep_show_fdinfo()
        if (sscanf(line, "tfd: %d events: %x data: %llx pos:%*i ino:%llx", &watched, &events, &data, &inode) == 4) {
            call(context, watched, inode, events, data);
        }
    }
    fclose(file);
    return true;
}

bool hf_epoll_each_instance(bool (*call)(void *context, int epoll), void *context) {
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL) {
        return false;
    }
    bool is_known = true;
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        char name[64];
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, name, sizeof name - 1);
        if (length <= 0) {
            continue;
        }
        name[length] = 0;
        if (strcmp(name, "anon_inode:[eventpoll]") == 0) {
            is_known = call(context, atoi(entry->d_name)) && is_known;
        }
    }
    closedir(folder);
    return is_known;
}

typedef struct Search {
    int epoll;
    int descriptor;
    uint64_t inode;
    HFEpollEntries *found;
} Search;

static void note_entry(void *context, int descriptor, uint64_t inode, uint32_t events, uint64_t data) {
    Search *search = context;
    HFEpollEntries *found = search->found;
    if (descriptor == search->descriptor && inode == search->inode && found->count < HF_EPOLL_MOST) {
        found->entries[found->count] = (HFEpollEntry){search->epoll, events, data};
        found->count += 1;
    }
}

static bool search_instance(void *context, int epoll) {
    Search *search = context;
    search->epoll = epoll;
    return hf_epoll_each(epoll, note_entry, search);
}

bool hf_epoll_entries_find(int descriptor, HFEpollEntries *found) {
    *found = (HFEpollEntries){0};
    struct stat status;
    if (fstat(descriptor, &status) != 0) {
        return false;
    }
    Search search = {.descriptor = descriptor, .inode = status.st_ino, .found = found};
    return hf_epoll_each_instance(search_instance, &search);
}

void hf_epoll_entries_restore(int descriptor, const HFEpollEntries *found) {
    for (int i = 0; i < found->count; i += 1) {
        struct epoll_event event = {.events = found->entries[i].events, .data.u64 = found->entries[i].data};
        epoll_ctl(found->entries[i].epoll, EPOLL_CTL_ADD, descriptor, &event);
    }
}

void hf_epoll_entries_rest(int descriptor, const HFEpollEntries *found) {
    for (int i = 0; i < found->count; i += 1) {
        // Still registered, so that its owner can take it out.
        struct epoll_event event = {.events = 0, .data.u64 = found->entries[i].data};
        epoll_ctl(found->entries[i].epoll, EPOLL_CTL_MOD, descriptor, &event);
    }
}
