// Beginning and ending to keep the context of faults, and setting the values of a program. Ordinary code.

#include "crash_context.h"

#include "async_spool.h"
#include "recovery_point.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

/// In async_context.c.
void hf_async_set_context(HFContextSection *section);

static HFContextSection *section_of(HFSpoolHeader *spool) {
    return (HFContextSection *)(void *)((char *)spool + spool->context_offset);
}

size_t hf_context_section_size(void) { return sizeof(HFContextSection); }

size_t hf_context_snapshot_size(void) { return sizeof(HFSnapshot); }

void hf_context_lay_out(HFSpoolHeader *spool) {
    HFContextArea *area = &section_of(spool)->area;
    area->size = sizeof *area;
    area->ring_offset = offsetof(HFContextSection, rings);
    area->ring_size = sizeof(HFEventRing);
    area->ring_count = HF_RING_COUNT;
    area->event_count = HF_EVENT_COUNT;
    area->note_offset = offsetof(HFContextSection, notes);
    area->note_size = sizeof(HFNote);
    area->note_count = HF_NOTE_COUNT;
    area->value_offset = offsetof(HFContextSection, values);
    area->value_size = sizeof(HFValue);
    area->annotation_count = HF_ANNOTATION_COUNT;
    area->tag_count = HF_TAG_COUNT;
    area->snapshot_offset = offsetof(HFContextSection, snapshots);
    area->snapshot_size = sizeof(HFSnapshot);
    area->snapshot_count = HF_CONTEXT_SNAPSHOT_COUNT;
}

/// Copies as many whole NUL-terminated texts as there is room for.
static uint32_t copy_texts(char *field, size_t size, const char *texts, size_t length) {
    if (length > size) {
        length = size;
        while (length > 0 && texts[length - 1] != 0) {
            length -= 1;
        }
    }
    memcpy(field, texts, length);
    return (uint32_t)length;
}

void hf_context_describe(
    HFSpoolHeader *spool,
    const char *environment,
    size_t environment_length,
    const char *redaction,
    size_t redaction_length,
    uint32_t redaction_flags) {
    HFContextArea *area = &section_of(spool)->area;
    if (environment_length > 0) {
        area->environment_length =
            copy_texts(area->environment, sizeof area->environment, environment, environment_length);
    }
    if (redaction_length > 0) {
        area->redaction_length = copy_texts(area->redaction, sizeof area->redaction, redaction, redaction_length);
    }
    area->redaction_flags = redaction_flags | HF_REDACTION_KNOWN;
}

static void copy_name(char *field, size_t size, const char *text) {
    size_t length = strnlen(text, size - 1);
    memcpy(field, text, length);
    field[length] = 0;
}

void hf_context_describe_container(const HFContainer *container) {
    HFContextSection *section = hf_async_context();
    if (section == NULL) {
        return;
    }
    HFContextArea *area = &section->area;
    copy_name(area->container_runtime, sizeof area->container_runtime, container->runtime);
    copy_name(area->container_id, sizeof area->container_id, container->identifier);
    copy_name(area->control_group, sizeof area->control_group, container->control_group);
    area->memory_limit = container->memory_limit;
    area->processor_limit = container->processor_limit;
    __atomic_store_n(&area->container_known, 1, __ATOMIC_RELEASE);
    hf_copy_spool();
}

/// How often to wait for the thread that faulted, a tenth of a millisecond at a time: on a busy machine it may not have gone on yet.
enum { patience = 10000 };

bool hf_context_copy_snapshot(uint32_t fault, void *buffer) {
    HFContextSection *section = hf_async_context();
    for (int i = 0; section != NULL && i < HF_CONTEXT_SNAPSHOT_COUNT; i += 1) {
        HFSnapshot *snapshot = &section->snapshots[i];
        if (__atomic_load_n(&snapshot->fault, __ATOMIC_ACQUIRE) != fault) {
            continue;
        }
        for (int k = 0; k < patience && __atomic_load_n(&snapshot->state, __ATOMIC_ACQUIRE) == HF_SNAPSHOT_CLAIMED; k += 1) {
            usleep(100);
        }
        if (__atomic_load_n(&snapshot->state, __ATOMIC_ACQUIRE) != HF_SNAPSHOT_KEPT) {
            return false;
        }
        memcpy(buffer, snapshot, sizeof *snapshot);
        return true;
    }
    return false;
}

void hf_context_install(HFSpoolHeader *spool) {
    if (spool->context_offset == 0) {
        return;
    }
    HFContextSection *section = section_of(spool);
    hf_async_set_context(section);
    hf_loop_events_provide(section->rings, HF_RING_COUNT);
}

void hf_context_warm_up(void) {
    HFContextSection *section = hf_async_context();
    if (section == NULL) {
        return;
    }
    for (size_t i = 0; i < sizeof(HFSnapshot); i += 4096) {
        // Adds nothing: the snapshot may be in use.
        __atomic_fetch_or((char *)&section->snapshots[0] + i, 0, __ATOMIC_RELAXED);
    }
}

void hf_context_forget(void) {
    hf_async_set_context(NULL);
    hf_loop_events_forget();
}

/// Held while a value is changed.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static HFValue *find(HFValue *values, uint32_t count, const char *key, size_t length) {
    for (uint32_t i = 0; i < count; i += 1) {
        if (values[i].version != 0 && strnlen(values[i].key, HF_VALUE_KEY_SIZE) == length &&
            memcmp(values[i].key, key, length) == 0) {
            return &values[i];
        }
    }
    return NULL;
}

static HFValue *find_free(HFValue *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i += 1) {
        if (values[i].version == 0) {
            return &values[i];
        }
    }
    return NULL;
}

static void copy(char *field, size_t size, const char *text, size_t length) {
    memcpy(field, text, length);
    memset(field + length, 0, size - length);
}

static void write_value(HFValue *value, const char *key, size_t key_length, const char *text, size_t length) {
    uint64_t version = value->version;
    __atomic_store_n(&value->version, version + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    copy(value->key, sizeof value->key, key, key_length);
    copy(value->text, sizeof value->text, text, length);
    __atomic_store_n(&value->version, version + 2, __ATOMIC_RELEASE);
}

static bool set_value(
    HFContextSection *section, bool is_tag, const char *key, size_t key_length, const char *text, size_t length) {
    HFValue *values = section->values + (is_tag ? HF_ANNOTATION_COUNT : 0);
    uint32_t count = is_tag ? HF_TAG_COUNT : HF_ANNOTATION_COUNT;
    HFValue *value = find(values, count, key, key_length);
    if (text == NULL) {
        if (value != NULL) {
            __atomic_store_n(&value->version, 0, __ATOMIC_RELEASE);
        }
        return true;
    }
    value = value != NULL ? value : find_free(values, count);
    if (value == NULL) {
        return false;
    }
    write_value(value, key, key_length, text, length);
    return true;
}

bool hf_context_set_value(bool is_tag, const char *key, size_t key_length, const char *text, size_t length) {
    HFContextSection *section = hf_async_context();
    if (section == NULL) {
        return false;
    }
    key_length = key_length < HF_VALUE_KEY_SIZE ? key_length : HF_VALUE_KEY_SIZE;
    length = length < HF_VALUE_TEXT_SIZE ? length : HF_VALUE_TEXT_SIZE;
    // A fault while the lock is held must not be resumed: nobody would ever release it.
    hf_critical_enter();
    pthread_mutex_lock(&lock);
    bool done = set_value(section, is_tag, key, key_length, text, length);
    pthread_mutex_unlock(&lock);
    hf_critical_leave();
    return done;
}

int hf_context_value(bool is_tag, const char *key, size_t key_length, char *text) {
    HFContextSection *section = hf_async_context();
    if (section == NULL) {
        return -1;
    }
    key_length = key_length < HF_VALUE_KEY_SIZE ? key_length : HF_VALUE_KEY_SIZE;
    hf_critical_enter();
    pthread_mutex_lock(&lock);
    HFValue *values = section->values + (is_tag ? HF_ANNOTATION_COUNT : 0);
    HFValue *value = find(values, is_tag ? HF_TAG_COUNT : HF_ANNOTATION_COUNT, key, key_length);
    int length = -1;
    if (value != NULL) {
        length = (int)strnlen(value->text, HF_VALUE_TEXT_SIZE);
        memcpy(text, value->text, (size_t)length);
    }
    pthread_mutex_unlock(&lock);
    hf_critical_leave();
    return length;
}
