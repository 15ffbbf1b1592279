/* A program of DRMAA: prints what each call gives, in the words of codes, and ends with 0. */
#include "drmaa.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4
#define EACH 3

static char text[DRMAA_ERROR_STRING_BUFFER];

static void must(int code, const char *what) {
    if (code == DRMAA_ERRNO_SUCCESS) return;
    printf("%s: code %d: %s\n", what, code, text);
    exit(1);
}

static drmaa_job_template_t *job(const char *command) {
    drmaa_job_template_t *jt;
    const char *words[] = {"-c", command, NULL};
    must(drmaa_allocate_job_template(&jt, text, sizeof text), "allocate");
    must(drmaa_set_attribute(jt, DRMAA_REMOTE_COMMAND, "/bin/sh", text, sizeof text), "command");
    must(drmaa_set_vector_attribute(jt, DRMAA_V_ARGV, words, text, sizeof text), "arguments");
    must(drmaa_set_attribute(jt, DRMAA_OUTPUT_PATH, ":/dev/null", text, sizeof text), "output");
    must(drmaa_set_attribute(jt, DRMAA_JOIN_FILES, "y", text, sizeof text), "join");
    return jt;
}

static void ended(const char *name, const char *command, int terminate) {
    char id[DRMAA_JOBNAME_BUFFER], out[DRMAA_JOBNAME_BUFFER], signal[DRMAA_SIGNAL_BUFFER] = "", value[1024];
    int stat, exited, status, signaled, aborted, core = 0, state;
    int count;
    drmaa_attr_values_t *usage = NULL;
    drmaa_job_template_t *jt = job(command);
    must(drmaa_run_job(id, sizeof id, jt, text, sizeof text), "run");
    must(drmaa_delete_job_template(jt, text, sizeof text), "delete");
    if (terminate) {
        do {
            usleep(50000);
            must(drmaa_job_ps(id, &state, text, sizeof text), "ps");
        } while (state != DRMAA_PS_RUNNING);
        must(drmaa_control(id, DRMAA_CONTROL_TERMINATE, text, sizeof text), "terminate");
    }
    must(drmaa_wait(id, out, sizeof out, &stat, 120, &usage, text, sizeof text), "wait");
    drmaa_wifexited(&exited, stat, text, sizeof text);
    drmaa_wexitstatus(&status, stat, text, sizeof text);
    drmaa_wifsignaled(&signaled, stat, text, sizeof text);
    drmaa_wifaborted(&aborted, stat, text, sizeof text);
    if (signaled) {
        drmaa_wtermsig(signal, sizeof signal, stat, text, sizeof text);
        drmaa_wcoredump(&core, stat, text, sizeof text);
    }
    drmaa_get_num_attr_values(usage, &count);
    int seen = 0;
    int has_cpu = 0;
    while (drmaa_get_next_attr_value(usage, value, sizeof value) == DRMAA_ERRNO_SUCCESS) {
        seen++;
        has_cpu |= strncmp(value, "cpu=", 4) == 0;
    }
    drmaa_release_attr_values(usage);
    printf("%s: same id %d, exited %d, status %d, signaled %d %s, aborted %d, usage %d\n", name, !strcmp(id, out), exited,
           exited ? status : 0, signaled, signal, aborted, has_cpu && seen == count && count > 10);
    printf("%s: waited for again: code %d\n", name, drmaa_wait(id, NULL, 0, NULL, 1, NULL, text, sizeof text));
}

static void *several(void *result) {
    long right = 0;
    for (int at = 0; at < EACH; at++) {
        char id[DRMAA_JOBNAME_BUFFER], diagnosis[DRMAA_ERROR_STRING_BUFFER];
        int stat = 0, status = -1;
        drmaa_job_template_t *jt = job("exit 7");
        if (drmaa_run_job(id, sizeof id, jt, diagnosis, sizeof diagnosis) == DRMAA_ERRNO_SUCCESS &&
            drmaa_wait(id, NULL, 0, &stat, 120, NULL, diagnosis, sizeof diagnosis) == DRMAA_ERRNO_SUCCESS &&
            drmaa_wexitstatus(&status, stat, diagnosis, sizeof diagnosis) == DRMAA_ERRNO_SUCCESS)
            right += status == 7;
        drmaa_delete_job_template(jt, diagnosis, sizeof diagnosis);
    }
    *(long *)result = right;
    return NULL;
}

static void templates(void) {
    char value[DRMAA_ATTR_BUFFER];
    drmaa_job_template_t *jt = job("true");
    const char *variables[] = {"A=1", "B=x y", NULL};
    drmaa_attr_values_t *values;
    must(drmaa_set_vector_attribute(jt, DRMAA_V_ENV, variables, text, sizeof text), "environment");
    must(drmaa_get_vector_attribute(jt, DRMAA_V_ENV, &values, text, sizeof text), "get environment");
    while (drmaa_get_next_attr_value(values, value, sizeof value) == DRMAA_ERRNO_SUCCESS) printf("variable %s\n", value);
    drmaa_release_attr_values(values);
    must(drmaa_get_attribute(jt, DRMAA_REMOTE_COMMAND, value, sizeof value, text, sizeof text), "get");
    printf("command: %s\n", value);
    printf("not set: code %d\n", drmaa_get_attribute(jt, DRMAA_WD, value, sizeof value, text, sizeof text));
    printf("bad state: code %d\n", drmaa_set_attribute(jt, DRMAA_JS_STATE, "x", text, sizeof text));
    printf("no attribute: code %d\n", drmaa_set_attribute(jt, "drmaa_x", "x", text, sizeof text));
    must(drmaa_set_attribute(jt, DRMAA_NATIVE_SPECIFICATION, "-l nosuch=1", text, sizeof text), "native");
    printf("denied: code %d", drmaa_run_job(value, sizeof value, jt, text, sizeof text));
    printf(": %s\n", text);
    must(drmaa_delete_job_template(jt, text, sizeof text), "delete");
}

static void bulk(void) {
    char id[DRMAA_JOBNAME_BUFFER];
    drmaa_job_ids_t *ids;
    int count, at = 0;
    static char all[8][DRMAA_JOBNAME_BUFFER];
    const char *names[9] = {NULL}, *every[] = {DRMAA_JOB_IDS_SESSION_ALL, NULL};
    drmaa_job_template_t *jt = job("exit $SGE_TASK_ID");
    must(drmaa_run_bulk_jobs(&ids, jt, 2, 8, 3, text, sizeof text), "bulk");
    drmaa_get_num_job_ids(ids, &count);
    while (drmaa_get_next_job_id(ids, id, sizeof id) == DRMAA_ERRNO_SUCCESS && at < 8) {
        strcpy(all[at], id);
        names[at] = all[at];
        printf("bulk job %s\n", strchr(id, '.'));
        at++;
    }
    printf("bulk jobs: %d\n", count);
    drmaa_release_job_ids(ids);
    must(drmaa_synchronize(names, 120, 0, text, sizeof text), "synchronize");
    for (at = 0; names[at] != NULL; at++) {
        int stat, status;
        must(drmaa_wait(names[at], NULL, 0, &stat, 120, NULL, text, sizeof text), "wait");
        drmaa_wexitstatus(&status, stat, text, sizeof text);
        printf("bulk status %d\n", status);
    }
    printf("bad range: code %d\n", drmaa_run_bulk_jobs(&ids, jt, 5, 2, 1, text, sizeof text));
    must(drmaa_set_attribute(jt, DRMAA_JS_STATE, DRMAA_SUBMISSION_STATE_HOLD, text, sizeof text), "hold");
    must(drmaa_run_job(id, sizeof id, jt, text, sizeof text), "run");
    int state;
    must(drmaa_job_ps(id, &state, text, sizeof text), "ps");
    printf("state 0x%02x\n", state);
    printf("in time: code %d\n", drmaa_wait(id, NULL, 0, NULL, DRMAA_TIMEOUT_NO_WAIT, NULL, text, sizeof text));
    printf("suspend: code %d\n", drmaa_control(id, DRMAA_CONTROL_SUSPEND, text, sizeof text));
    must(drmaa_control(DRMAA_JOB_IDS_SESSION_ALL, DRMAA_CONTROL_TERMINATE, text, sizeof text), "terminate all");
    must(drmaa_synchronize(every, 120, 0, text, sizeof text), "synchronize all");
    drmaa_attr_values_t *usage;
    printf("no usage: code %d\n", drmaa_wait(id, NULL, 0, NULL, 120, &usage, text, sizeof text));
    printf("no job: code %d\n", drmaa_job_ps("999999", &state, text, sizeof text));
    must(drmaa_delete_job_template(jt, text, sizeof text), "delete");
}

int main(void) {
    unsigned int major, minor;
    char contact[DRMAA_CONTACT_BUFFER];
    drmaa_job_template_t *jt;
    pthread_t threads[THREADS];
    long right[THREADS], sum = 0;
    printf("before: code %d\n", drmaa_allocate_job_template(&jt, text, sizeof text));
    must(drmaa_init(NULL, text, sizeof text), "init");
    printf("again: code %d\n", drmaa_init(NULL, text, sizeof text));
    must(drmaa_version(&major, &minor, text, sizeof text), "version");
    must(drmaa_get_contact(contact, sizeof contact, text, sizeof text), "contact");
    printf("version %u.%u, contact %.8s\n", major, minor, contact);
    templates();
    ended("exit", "exit 3", 0);
    ended("signal", "kill -USR1 $$", 0);
    ended("terminated", "sleep 60", 1);
    bulk();
    for (int at = 0; at < THREADS; at++) pthread_create(&threads[at], NULL, several, &right[at]);
    for (int at = 0; at < THREADS; at++) {
        pthread_join(threads[at], NULL);
        sum += right[at];
    }
    printf("threads: %ld of %d\n", sum, THREADS * EACH);
    must(drmaa_exit(text, sizeof text), "exit");
    printf("after: code %d\n", drmaa_exit(text, sizeof text));
    return 0;
}
