/* DRMAA 1.0 for C over a child process that speaks to the pool (serve.py).
 *
 * A call is a message of texts to the child, and its answer one of texts: a line with a number and how many texts there
 * are, then each text behind a line with its length. Calls of several threads are under way at the same time: the number
 * says whose an answer is, and one of the threads that wait reads for all of them.
 *
 * Everything that may be wrong with a call is found out by the child, so that this file decides nothing.
 */
#define _GNU_SOURCE
#include "drmaa.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef ROOST_PYTHON
#error "compile with -DROOST_PYTHON and -DROOST_SOURCE, as roost shims drmaa does"
#endif

extern char **environ;

/* The longest text and the most texts of an answer. */
#define TEXT_MAX (64u << 20)
#define TEXTS_MAX (4u << 20)

#define EXITED 1
#define SIGNALED 2
#define CORE_DUMPED 4
#define ABORTED 8

/* -- lists of texts ------------------------------------------------------------------------------------------------ */

struct texts {
    char **items;
    size_t count, room, next;
};

struct drmaa_attr_names_s { struct texts texts; };
struct drmaa_attr_values_s { struct texts texts; };
struct drmaa_job_ids_s { struct texts texts; };

static void clear(struct texts *texts) {
    for (size_t at = 0; at < texts->count; at++) free(texts->items[at]);
    free(texts->items);
    memset(texts, 0, sizeof *texts);
}

/* Take a text over, which is freed if there is no memory for it. */
static int take(struct texts *texts, char *text) {
    if (text != NULL && texts->count == texts->room) {
        size_t room = texts->room ? texts->room * 2 : 16;
        char **items = realloc(texts->items, room * sizeof *items);
        if (items == NULL) {
            free(text);
            text = NULL;
        } else {
            texts->items = items;
            texts->room = room;
        }
    }
    if (text == NULL) return -1;
    texts->items[texts->count++] = text;
    return 0;
}

static int add(struct texts *texts, const char *text) { return take(texts, strdup(text)); }

static int add_number(struct texts *texts, long number) {
    char text[32];
    snprintf(text, sizeof text, "%ld", number);
    return add(texts, text);
}

static void copy(char *to, size_t room, const char *text) {
    if (to != NULL && room > 0) snprintf(to, room, "%s", text);
}

static int next(struct texts *texts, char *value, size_t room) {
    if (texts == NULL) return DRMAA_ERRNO_INVALID_ARGUMENT;
    if (texts->next >= texts->count) return DRMAA_ERRNO_NO_MORE_ELEMENTS;
    copy(value, room, texts->items[texts->next++]);
    return DRMAA_ERRNO_SUCCESS;
}

static int number_of(struct texts *texts, int *size) {
    if (texts == NULL || size == NULL) return DRMAA_ERRNO_INVALID_ARGUMENT;
    *size = (int)texts->count;
    return DRMAA_ERRNO_SUCCESS;
}

int drmaa_get_next_attr_name(drmaa_attr_names_t *values, char *value, size_t value_len) {
    return next(values ? &values->texts : NULL, value, value_len);
}
int drmaa_get_next_attr_value(drmaa_attr_values_t *values, char *value, size_t value_len) {
    return next(values ? &values->texts : NULL, value, value_len);
}
int drmaa_get_next_job_id(drmaa_job_ids_t *values, char *value, size_t value_len) {
    return next(values ? &values->texts : NULL, value, value_len);
}
int drmaa_get_num_attr_names(drmaa_attr_names_t *values, int *size) {
    return number_of(values ? &values->texts : NULL, size);
}
int drmaa_get_num_attr_values(drmaa_attr_values_t *values, int *size) {
    return number_of(values ? &values->texts : NULL, size);
}
int drmaa_get_num_job_ids(drmaa_job_ids_t *values, int *size) {
    return number_of(values ? &values->texts : NULL, size);
}
void drmaa_release_attr_names(drmaa_attr_names_t *values) {
    if (values != NULL) clear(&values->texts);
    free(values);
}
void drmaa_release_attr_values(drmaa_attr_values_t *values) {
    if (values != NULL) clear(&values->texts);
    free(values);
}
void drmaa_release_job_ids(drmaa_job_ids_t *values) {
    if (values != NULL) clear(&values->texts);
    free(values);
}

/* A list of the texts of an answer from one of them on, which are taken out of it; NULL for no memory. */
static void *list_of(struct texts *answer, size_t first) {
    struct texts *found = calloc(1, sizeof *found);
    if (found == NULL) return NULL;
    for (size_t at = first; at < answer->count; at++) {
        char *text = answer->items[at];
        answer->items[at] = NULL;
        if (take(found, text) != 0) {
            clear(found);
            free(found);
            return NULL;
        }
    }
    return found;
}

/* -- errors -------------------------------------------------------------------------------------------------------- */

static const char *const TEXTS[] = {
    "the call succeeded", "internal error", "the pool does not answer", "the user may not do that",
    "an argument is not valid", "no session is active", "out of memory", "the contact string is not valid",
    "the default contact string cannot be used", "there is no default contact string",
    "the session cannot be started", "a session is already active", "the session cannot be ended",
    "the value of an attribute has the wrong format", "the value of an attribute is not valid",
    "the values of two attributes contradict each other", "the pool cannot take the request now: try later",
    "the pool refuses the job", "there is no such job", "the job is not suspended", "the job does not run",
    "the job is not waiting", "the job is not on hold", "the time ran out first", "no usage is known of the job",
    "no more elements",
};

const char *drmaa_strerror(int drmaa_errno) {
    size_t count = sizeof TEXTS / sizeof *TEXTS;
    return drmaa_errno >= 0 && (size_t)drmaa_errno < count ? TEXTS[drmaa_errno] : "an unknown error";
}

static int fail(int code, char *diagnosis, size_t room, const char *text) {
    copy(diagnosis, room, text != NULL && *text ? text : drmaa_strerror(code));
    return code;
}

/* -- the child ----------------------------------------------------------------------------------------------------- */

struct waiting {
    unsigned long number;
    struct texts answer;
    int done, broken;
    struct waiting *after;
};

static struct {
    /* Guards everything here but the two ends of the pipes. */
    pthread_mutex_t lock;
    pthread_mutex_t writing;
    pthread_cond_t heard;
    int active, starting, is_read, broken, calls;
    pid_t child, owner;
    int in, out;
    unsigned long number;
    struct waiting *waiting;
    char *contact, *system;
} session = {.lock = PTHREAD_MUTEX_INITIALIZER, .writing = PTHREAD_MUTEX_INITIALIZER, .heard = PTHREAD_COND_INITIALIZER};

static int write_all(int to, const char *data, size_t size) {
    while (size > 0) {
        ssize_t done = write(to, data, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return -1;
        data += done;
        size -= (size_t)done;
    }
    return 0;
}

static int read_all(int from, char *data, size_t size) {
    while (size > 0) {
        ssize_t done = read(from, data, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return -1;
        data += done;
        size -= (size_t)done;
    }
    return 0;
}

/* A line with up to two numbers. */
static int read_numbers(int from, unsigned long *first, unsigned long *second) {
    char line[64];
    size_t length = 0;
    do {
        if (length + 1 >= sizeof line || read_all(from, line + length, 1) != 0) return -1;
    } while (line[length++] != '\n');
    line[length] = '\0';
    return sscanf(line, second ? "%lu %lu" : "%lu", first, second) == (second ? 2 : 1) ? 0 : -1;
}

static int read_answer(int from, unsigned long *number, struct texts *answer) {
    unsigned long count, length;
    if (read_numbers(from, number, &count) != 0 || count > TEXTS_MAX) return -1;
    while (count-- > 0) {
        if (read_numbers(from, &length, NULL) != 0 || length > TEXT_MAX) return -1;
        char *text = malloc(length + 1);
        if (text == NULL || read_all(from, text, length) != 0) {
            free(text);
            return -1;
        }
        text[length] = '\0';
        if (take(answer, text) != 0) return -1;
    }
    return answer->count >= 2 ? 0 : -1;
}

/* A write to a child that has ended must not end the program. */
static int write_quietly(int to, const char *data, size_t size) {
    sigset_t pipe, before, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    int was_pending = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    int result = write_all(to, data, size);
    if (result != 0 && !was_pending) {
        struct timespec none = {0, 0};
        while (sigtimedwait(&pipe, NULL, &none) < 0 && errno == EINTR) {}
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

static int send_call(unsigned long number, const struct texts *call) {
    char *data = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&data, &size);
    if (stream == NULL) return -1;
    fprintf(stream, "%lu %zu\n", number, call->count);
    for (size_t at = 0; at < call->count; at++) {
        size_t length = strlen(call->items[at]);
        fprintf(stream, "%zu\n", length);
        fwrite(call->items[at], 1, length, stream);
    }
    int result = fclose(stream);
    if (result == 0) {
        pthread_mutex_lock(&session.writing);
        result = write_quietly(session.in, data, size);
        pthread_mutex_unlock(&session.writing);
    }
    free(data);
    return result;
}

/* Read answers until that to one call is there; called with the lock. */
static void await_answer(struct waiting *mine) {
    while (!mine->done && !session.broken) {
        if (session.is_read) {
            pthread_cond_wait(&session.heard, &session.lock);
            continue;
        }
        session.is_read = 1;
        int from = session.out;
        pthread_mutex_unlock(&session.lock);
        unsigned long number = 0;
        struct texts answer = {0};
        int result = read_answer(from, &number, &answer);
        pthread_mutex_lock(&session.lock);
        session.is_read = 0;
        if (result != 0) session.broken = 1;
        for (struct waiting *each = session.waiting; result == 0 && each != NULL; each = each->after) {
            if (each->number == number && !each->done) {
                each->answer = answer;
                each->done = 1;
                memset(&answer, 0, sizeof answer);
            }
        }
        clear(&answer);
        pthread_cond_broadcast(&session.heard);
    }
    mine->broken = !mine->done;
}

/* Make a call, whose texts are freed. The answer has a code, a text, and what follows. Called with the lock. */
static int exchange(struct texts *call, struct texts *answer, char *diagnosis, size_t room) {
    struct waiting mine = {.number = ++session.number, .after = session.waiting};
    session.waiting = &mine;
    session.calls++;
    pthread_mutex_unlock(&session.lock);
    int sent = send_call(mine.number, call);
    clear(call);
    pthread_mutex_lock(&session.lock);
    if (sent == 0) await_answer(&mine);
    struct waiting **at = &session.waiting;
    while (*at != &mine) at = &(*at)->after;
    *at = mine.after;
    session.calls--;
    pthread_cond_broadcast(&session.heard);
    if (sent != 0 || mine.broken) {
        session.broken = 1;
        clear(&mine.answer);
        return fail(DRMAA_ERRNO_DRM_COMMUNICATION_FAILURE, diagnosis, room,
                    "the process that speaks to the pool has ended: end the session, and begin it again");
    }
    int code = atoi(mine.answer.items[0]);
    if (code != 0) {
        fail(code, diagnosis, room, mine.answer.items[1]);
        clear(&mine.answer);
        return code;
    }
    *answer = mine.answer;
    return DRMAA_ERRNO_SUCCESS;
}

/* Make a call of the active session. */
static int ask(struct texts *call, int complete, struct texts *answer, char *diagnosis, size_t room) {
    if (!complete) {
        clear(call);
        return fail(DRMAA_ERRNO_NO_MEMORY, diagnosis, room, NULL);
    }
    pthread_mutex_lock(&session.lock);
    int code;
    if (!session.active) {
        clear(call);
        code = fail(DRMAA_ERRNO_NO_ACTIVE_SESSION, diagnosis, room, NULL);
    } else if (session.owner != getpid()) {
        clear(call);
        code = fail(DRMAA_ERRNO_DRM_COMMUNICATION_FAILURE, diagnosis, room,
                    "the session is that of the process that this one was forked from");
    } else {
        code = exchange(call, answer, diagnosis, room);
    }
    pthread_mutex_unlock(&session.lock);
    return code;
}

/* Start the child; 0, or an error number. Called with the lock. */
static int start_child(void) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0) return errno;
    if (pipe2(from, O_CLOEXEC) != 0) {
        int problem = errno;
        close(to[0]);
        close(to[1]);
        return problem;
    }
    /* The ends get numbers of their own, so that neither stands in the place of the other. */
    int stdin_ = fcntl(to[0], F_DUPFD_CLOEXEC, 10), stdout_ = fcntl(from[1], F_DUPFD_CLOEXEC, 10);
    close(to[0]);
    close(from[1]);
    static char program[] = "import sys; sys.path.insert(0, " ROOST_SOURCE "); "
                            "from roost.compat.drmaa.library.serve import main; main()";
    char *words[] = {ROOST_PYTHON, "-I", "-S", "-c", program, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, stdin_, 0);
    posix_spawn_file_actions_adddup2(&actions, stdout_, 1);
    posix_spawnattr_init(&attributes);
    /* What a terminal sends to the program does not reach the child. */
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int problem = stdin_ < 0 || stdout_ < 0 ? EMFILE
                                            : posix_spawn(&session.child, words[0], &actions, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (stdin_ >= 0) close(stdin_);
    if (stdout_ >= 0) close(stdout_);
    session.in = to[1];
    session.out = from[0];
    session.owner = getpid();
    session.broken = 0;
    if (problem != 0) {
        close(session.in);
        close(session.out);
    }
    return problem;
}

/* Leave the child, which ends when its input does. Called with the lock. */
static void end_child(void) {
    /* Calls of other threads get their answer first, that the session was ended. */
    if (session.owner == getpid()) {
        while (session.calls > 0 && !session.broken) pthread_cond_wait(&session.heard, &session.lock);
    }
    close(session.in);
    close(session.out);
    if (session.owner == getpid()) {
        int status;
        while (waitpid(session.child, &status, 0) < 0 && errno == EINTR) {}
    }
    free(session.contact);
    free(session.system);
    session.contact = session.system = NULL;
    session.active = 0;
}

/* -- sessions ------------------------------------------------------------------------------------------------------ */

int drmaa_init(const char *contact, char *error_diagnosis, size_t error_diag_len) {
    pthread_mutex_lock(&session.lock);
    if (session.active || session.starting) {
        pthread_mutex_unlock(&session.lock);
        return fail(DRMAA_ERRNO_ALREADY_ACTIVE_SESSION, error_diagnosis, error_diag_len, NULL);
    }
    session.starting = 1;
    int code, problem = start_child();
    if (problem != 0) {
        char text[512];
        snprintf(text, sizeof text, "cannot start %s: %s; run roost shims drmaa again", ROOST_PYTHON, strerror(problem));
        code = fail(DRMAA_ERRNO_DRMS_INIT_FAILED, error_diagnosis, error_diag_len, text);
    } else {
        struct texts call = {0}, answer = {0};
        add(&call, "init");
        add(&call, contact != NULL ? contact : "");
        code = exchange(&call, &answer, error_diagnosis, error_diag_len);
        if (code == DRMAA_ERRNO_SUCCESS && answer.count >= 4) {
            session.contact = strdup(answer.items[2]);
            session.system = strdup(answer.items[3]);
            session.active = 1;
        } else {
            end_child();
        }
        clear(&answer);
    }
    session.starting = 0;
    pthread_mutex_unlock(&session.lock);
    return code;
}

int drmaa_exit(char *error_diagnosis, size_t error_diag_len) {
    pthread_mutex_lock(&session.lock);
    int code = DRMAA_ERRNO_SUCCESS;
    if (!session.active) {
        code = fail(DRMAA_ERRNO_NO_ACTIVE_SESSION, error_diagnosis, error_diag_len, NULL);
    } else {
        session.active = 0;
        if (session.owner == getpid()) {
            struct texts call = {0}, answer = {0};
            add(&call, "exit");
            /* A child that has ended has nothing more to end. */
            exchange(&call, &answer, NULL, 0);
            clear(&answer);
        }
        end_child();
    }
    pthread_mutex_unlock(&session.lock);
    return code;
}

/* -- job templates ------------------------------------------------------------------------------------------------- */

struct attribute {
    char *name;
    int is_vector;
    struct texts values;
    struct attribute *after;
};

struct drmaa_job_template_s {
    pthread_mutex_t lock;
    struct attribute *first;
};

static void free_attribute(struct attribute *attribute) {
    if (attribute == NULL) return;
    clear(&attribute->values);
    free(attribute->name);
    free(attribute);
}

static int is_active(char *diagnosis, size_t room) {
    pthread_mutex_lock(&session.lock);
    int active = session.active;
    pthread_mutex_unlock(&session.lock);
    return active ? DRMAA_ERRNO_SUCCESS : fail(DRMAA_ERRNO_NO_ACTIVE_SESSION, diagnosis, room, NULL);
}

int drmaa_allocate_job_template(drmaa_job_template_t **jt, char *error_diagnosis, size_t error_diag_len) {
    int code = is_active(error_diagnosis, error_diag_len);
    if (code != DRMAA_ERRNO_SUCCESS) return code;
    if (jt == NULL) return fail(DRMAA_ERRNO_INVALID_ARGUMENT, error_diagnosis, error_diag_len, NULL);
    *jt = calloc(1, sizeof **jt);
    if (*jt == NULL) return fail(DRMAA_ERRNO_NO_MEMORY, error_diagnosis, error_diag_len, NULL);
    pthread_mutex_init(&(*jt)->lock, NULL);
    return DRMAA_ERRNO_SUCCESS;
}

int drmaa_delete_job_template(drmaa_job_template_t *jt, char *error_diagnosis, size_t error_diag_len) {
    if (jt == NULL) return fail(DRMAA_ERRNO_INVALID_ARGUMENT, error_diagnosis, error_diag_len, NULL);
    while (jt->first != NULL) {
        struct attribute *gone = jt->first;
        jt->first = gone->after;
        free_attribute(gone);
    }
    pthread_mutex_destroy(&jt->lock);
    free(jt);
    return DRMAA_ERRNO_SUCCESS;
}

static int set(drmaa_job_template_t *jt, const char *name, const char *const *values, int is_vector, char *diagnosis,
               size_t room) {
    if (jt == NULL || name == NULL || values == NULL || (!is_vector && values[0] == NULL))
        return fail(DRMAA_ERRNO_INVALID_ARGUMENT, diagnosis, room, NULL);
    struct attribute *fresh = calloc(1, sizeof *fresh);
    struct texts call = {0}, answer = {0};
    int complete = fresh != NULL && (fresh->name = strdup(name)) != NULL && add(&call, "check") == 0 &&
                   add(&call, name) == 0 && add(&call, is_vector ? "list" : "value") == 0;
    for (size_t at = 0; complete && values[at] != NULL && (is_vector || at == 0); at++)
        complete = add(&call, values[at]) == 0 && add(&fresh->values, values[at]) == 0;
    int code = ask(&call, complete, &answer, diagnosis, room);
    clear(&answer);
    if (code != DRMAA_ERRNO_SUCCESS) {
        free_attribute(fresh);
        return code;
    }
    fresh->is_vector = is_vector;
    pthread_mutex_lock(&jt->lock);
    struct attribute **at = &jt->first;
    while (*at != NULL && strcmp((*at)->name, name) != 0) at = &(*at)->after;
    struct attribute *old = *at;
    fresh->after = old != NULL ? old->after : NULL;
    *at = fresh;
    pthread_mutex_unlock(&jt->lock);
    free_attribute(old);
    return DRMAA_ERRNO_SUCCESS;
}

int drmaa_set_attribute(drmaa_job_template_t *jt, const char *name, const char *value, char *error_diagnosis,
                        size_t error_diag_len) {
    const char *values[] = {value, NULL};
    return set(jt, name, values, 0, error_diagnosis, error_diag_len);
}

int drmaa_set_vector_attribute(drmaa_job_template_t *jt, const char *name, const char *value[], char *error_diagnosis,
                               size_t error_diag_len) {
    return set(jt, name, value, 1, error_diagnosis, error_diag_len);
}

/* The attribute of a template, which is locked if there is one. */
static struct attribute *find(drmaa_job_template_t *jt, const char *name, int is_vector, int *code, char *diagnosis,
                              size_t room) {
    *code = is_active(diagnosis, room);
    if (*code != DRMAA_ERRNO_SUCCESS) return NULL;
    if (jt == NULL || name == NULL) {
        *code = fail(DRMAA_ERRNO_INVALID_ARGUMENT, diagnosis, room, NULL);
        return NULL;
    }
    pthread_mutex_lock(&jt->lock);
    struct attribute *found = jt->first;
    while (found != NULL && (strcmp(found->name, name) != 0 || found->is_vector != is_vector)) found = found->after;
    if (found == NULL) {
        pthread_mutex_unlock(&jt->lock);
        char text[256];
        snprintf(text, sizeof text, "%.200s is not set", name);
        *code = fail(DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE, diagnosis, room, text);
    }
    return found;
}

int drmaa_get_attribute(drmaa_job_template_t *jt, const char *name, char *value, size_t value_len,
                        char *error_diagnosis, size_t error_diag_len) {
    int code;
    struct attribute *found = find(jt, name, 0, &code, error_diagnosis, error_diag_len);
    if (found == NULL) return code;
    copy(value, value_len, found->values.items[0]);
    pthread_mutex_unlock(&jt->lock);
    return DRMAA_ERRNO_SUCCESS;
}

int drmaa_get_vector_attribute(drmaa_job_template_t *jt, const char *name, drmaa_attr_values_t **values,
                               char *error_diagnosis, size_t error_diag_len) {
    int code;
    if (values == NULL) return fail(DRMAA_ERRNO_INVALID_ARGUMENT, error_diagnosis, error_diag_len, NULL);
    struct attribute *found = find(jt, name, 1, &code, error_diagnosis, error_diag_len);
    if (found == NULL) return code;
    drmaa_attr_values_t *list = calloc(1, sizeof *list);
    int complete = list != NULL;
    for (size_t at = 0; complete && at < found->values.count; at++)
        complete = add(&list->texts, found->values.items[at]) == 0;
    pthread_mutex_unlock(&jt->lock);
    if (!complete) {
        drmaa_release_attr_values(list);
        return fail(DRMAA_ERRNO_NO_MEMORY, error_diagnosis, error_diag_len, NULL);
    }
    *values = list;
    return DRMAA_ERRNO_SUCCESS;
}

static int names(const char *kind, drmaa_attr_names_t **values, char *diagnosis, size_t room) {
    if (values == NULL) return fail(DRMAA_ERRNO_INVALID_ARGUMENT, diagnosis, room, NULL);
    struct texts call = {0}, answer = {0};
    int complete = add(&call, "names") == 0 && add(&call, kind) == 0;
    int code = ask(&call, complete, &answer, diagnosis, room);
    if (code == DRMAA_ERRNO_SUCCESS) {
        *values = list_of(&answer, 2);
        if (*values == NULL) code = fail(DRMAA_ERRNO_NO_MEMORY, diagnosis, room, NULL);
    }
    clear(&answer);
    return code;
}

int drmaa_get_attribute_names(drmaa_attr_names_t **values, char *error_diagnosis, size_t error_diag_len) {
    return names("value", values, error_diagnosis, error_diag_len);
}

int drmaa_get_vector_attribute_names(drmaa_attr_names_t **values, char *error_diagnosis, size_t error_diag_len) {
    return names("list", values, error_diagnosis, error_diag_len);
}

/* -- jobs ---------------------------------------------------------------------------------------------------------- */

/* A call with the present directory and a template: name, kind, number of values and values of each attribute. */
static int add_template(struct texts *call, const drmaa_job_template_t *constant) {
    drmaa_job_template_t *jt = (drmaa_job_template_t *)constant;
    char *directory = getcwd(NULL, 0);
    int complete = add(call, directory != NULL ? directory : "") == 0;
    free(directory);
    pthread_mutex_lock(&jt->lock);
    for (struct attribute *each = jt->first; complete && each != NULL; each = each->after) {
        complete = add(call, each->name) == 0 && add(call, each->is_vector ? "list" : "value") == 0 &&
                   add_number(call, (long)each->values.count) == 0;
        for (size_t at = 0; complete && at < each->values.count; at++)
            complete = add(call, each->values.items[at]) == 0;
    }
    pthread_mutex_unlock(&jt->lock);
    return complete;
}

int drmaa_run_job(char *job_id, size_t job_id_len, const drmaa_job_template_t *jt, char *error_diagnosis,
                  size_t error_diag_len) {
    if (jt == NULL) return fail(DRMAA_ERRNO_INVALID_ARGUMENT, error_diagnosis, error_diag_len, NULL);
    struct texts call = {0}, answer = {0};
    int complete = add(&call, "run") == 0 && add_template(&call, jt);
    int code = ask(&call, complete, &answer, error_diagnosis, error_diag_len);
    if (code == DRMAA_ERRNO_SUCCESS && answer.count > 2) copy(job_id, job_id_len, answer.items[2]);
    clear(&answer);
    return code;
}

int drmaa_run_bulk_jobs(drmaa_job_ids_t **jobids, const drmaa_job_template_t *jt, int start, int end, int incr,
                        char *error_diagnosis, size_t error_diag_len) {
    if (jt == NULL || jobids == NULL) return fail(DRMAA_ERRNO_INVALID_ARGUMENT, error_diagnosis, error_diag_len, NULL);
    struct texts call = {0}, answer = {0};
    int complete = add(&call, "bulk") == 0 && add_number(&call, start) == 0 && add_number(&call, end) == 0 &&
                   add_number(&call, incr) == 0 && add_template(&call, jt);
    int code = ask(&call, complete, &answer, error_diagnosis, error_diag_len);
    if (code == DRMAA_ERRNO_SUCCESS) {
        *jobids = list_of(&answer, 2);
        if (*jobids == NULL) code = fail(DRMAA_ERRNO_NO_MEMORY, error_diagnosis, error_diag_len, NULL);
    }
    clear(&answer);
    return code;
}

int drmaa_control(const char *jobid, int action, char *error_diagnosis, size_t error_diag_len) {
    if (jobid == NULL) return fail(DRMAA_ERRNO_INVALID_ARGUMENT, error_diagnosis, error_diag_len, NULL);
    struct texts call = {0}, answer = {0};
    int complete = add(&call, "control") == 0 && add(&call, jobid) == 0 && add_number(&call, action) == 0;
    int code = ask(&call, complete, &answer, error_diagnosis, error_diag_len);
    clear(&answer);
    return code;
}

int drmaa_job_ps(const char *job_id, int *remote_ps, char *error_diagnosis, size_t error_diag_len) {
    if (job_id == NULL || remote_ps == NULL)
        return fail(DRMAA_ERRNO_INVALID_ARGUMENT, error_diagnosis, error_diag_len, NULL);
    struct texts call = {0}, answer = {0};
    int complete = add(&call, "ps") == 0 && add(&call, job_id) == 0;
    int code = ask(&call, complete, &answer, error_diagnosis, error_diag_len);
    if (code == DRMAA_ERRNO_SUCCESS && answer.count > 2) *remote_ps = atoi(answer.items[2]);
    clear(&answer);
    return code;
}

int drmaa_synchronize(const char *job_ids[], signed long timeout, int dispose, char *error_diagnosis,
                      size_t error_diag_len) {
    if (job_ids == NULL) return fail(DRMAA_ERRNO_INVALID_ARGUMENT, error_diagnosis, error_diag_len, NULL);
    struct texts call = {0}, answer = {0};
    int complete = add(&call, "synchronize") == 0 && add_number(&call, timeout) == 0 && add_number(&call, dispose) == 0;
    for (size_t at = 0; complete && job_ids[at] != NULL; at++) complete = add(&call, job_ids[at]) == 0;
    int code = ask(&call, complete, &answer, error_diagnosis, error_diag_len);
    clear(&answer);
    return code;
}

int drmaa_wait(const char *job_id, char *job_id_out, size_t job_id_out_len, int *stat, signed long timeout,
               drmaa_attr_values_t **rusage, char *error_diagnosis, size_t error_diag_len) {
    if (job_id == NULL) return fail(DRMAA_ERRNO_INVALID_ARGUMENT, error_diagnosis, error_diag_len, NULL);
    struct texts call = {0}, answer = {0};
    int complete = add(&call, "wait") == 0 && add(&call, job_id) == 0 && add_number(&call, timeout) == 0 &&
                   add_number(&call, rusage != NULL) == 0;
    int code = ask(&call, complete, &answer, error_diagnosis, error_diag_len);
    if (code == DRMAA_ERRNO_SUCCESS && answer.count >= 4) {
        copy(job_id_out, job_id_out_len, answer.items[2]);
        if (stat != NULL) *stat = atoi(answer.items[3]);
        if (rusage != NULL) {
            *rusage = list_of(&answer, 4);
            if (*rusage == NULL) code = fail(DRMAA_ERRNO_NO_MEMORY, error_diagnosis, error_diag_len, NULL);
        }
    }
    clear(&answer);
    return code;
}

/* -- the status of an ended job ------------------------------------------------------------------------------------ */

static int part(int *to, int value, char *diagnosis, size_t room) {
    if (to == NULL) return fail(DRMAA_ERRNO_INVALID_ARGUMENT, diagnosis, room, NULL);
    *to = value;
    return DRMAA_ERRNO_SUCCESS;
}

int drmaa_wifexited(int *exited, int stat, char *error_diagnosis, size_t error_diag_len) {
    return part(exited, (stat & EXITED) != 0, error_diagnosis, error_diag_len);
}
int drmaa_wexitstatus(int *exit_status, int stat, char *error_diagnosis, size_t error_diag_len) {
    return part(exit_status, stat >> 8 & 0xff, error_diagnosis, error_diag_len);
}
int drmaa_wifsignaled(int *signaled, int stat, char *error_diagnosis, size_t error_diag_len) {
    return part(signaled, (stat & SIGNALED) != 0, error_diagnosis, error_diag_len);
}
int drmaa_wcoredump(int *core_dumped, int stat, char *error_diagnosis, size_t error_diag_len) {
    return part(core_dumped, (stat & CORE_DUMPED) != 0, error_diagnosis, error_diag_len);
}
int drmaa_wifaborted(int *aborted, int stat, char *error_diagnosis, size_t error_diag_len) {
    return part(aborted, (stat & ABORTED) != 0, error_diagnosis, error_diag_len);
}

int drmaa_wtermsig(char *signal, size_t signal_len, int stat, char *error_diagnosis, size_t error_diag_len) {
    static const struct { int number; const char *name; } NAMES[] = {
        {SIGHUP, "SIGHUP"}, {SIGINT, "SIGINT"}, {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"}, {SIGTRAP, "SIGTRAP"},
        {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"},
        {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"}, {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
        {SIGCHLD, "SIGCHLD"}, {SIGCONT, "SIGCONT"}, {SIGSTOP, "SIGSTOP"}, {SIGTSTP, "SIGTSTP"}, {SIGTTIN, "SIGTTIN"},
        {SIGTTOU, "SIGTTOU"}, {SIGURG, "SIGURG"}, {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGVTALRM, "SIGVTALRM"},
        {SIGPROF, "SIGPROF"}, {SIGSYS, "SIGSYS"},
    };
    int number = stat >> 16 & 0xff;
    if (!(stat & SIGNALED) || signal == NULL)
        return fail(DRMAA_ERRNO_INVALID_ARGUMENT, error_diagnosis, error_diag_len, "no signal has ended the job");
    char text[DRMAA_SIGNAL_BUFFER];
    snprintf(text, sizeof text, "SIG%d", number);
    for (size_t at = 0; at < sizeof NAMES / sizeof *NAMES; at++)
        if (NAMES[at].number == number) snprintf(text, sizeof text, "%s", NAMES[at].name);
    copy(signal, signal_len, text);
    return DRMAA_ERRNO_SUCCESS;
}

/* -- what this is -------------------------------------------------------------------------------------------------- */

int drmaa_get_contact(char *contact, size_t contact_len, char *error_diagnosis, size_t error_diag_len) {
    (void)error_diagnosis;
    (void)error_diag_len;
    pthread_mutex_lock(&session.lock);
    copy(contact, contact_len, session.contact != NULL ? session.contact : "");
    pthread_mutex_unlock(&session.lock);
    return DRMAA_ERRNO_SUCCESS;
}

int drmaa_version(unsigned int *major, unsigned int *minor, char *error_diagnosis, size_t error_diag_len) {
    if (major == NULL || minor == NULL) return fail(DRMAA_ERRNO_INVALID_ARGUMENT, error_diagnosis, error_diag_len, NULL);
    *major = 1;
    *minor = 0;
    return DRMAA_ERRNO_SUCCESS;
}

int drmaa_get_DRM_system(char *drm_system, size_t drm_system_len, char *error_diagnosis, size_t error_diag_len) {
    (void)error_diagnosis;
    (void)error_diag_len;
    pthread_mutex_lock(&session.lock);
    copy(drm_system, drm_system_len, session.system != NULL ? session.system : "Roost");
    pthread_mutex_unlock(&session.lock);
    return DRMAA_ERRNO_SUCCESS;
}

int drmaa_get_DRMAA_implementation(char *drmaa_impl, size_t drmaa_impl_len, char *error_diagnosis,
                                   size_t error_diag_len) {
    (void)error_diagnosis;
    (void)error_diag_len;
    copy(drmaa_impl, drmaa_impl_len, "Roost " ROOST_VERSION);
    return DRMAA_ERRNO_SUCCESS;
}
