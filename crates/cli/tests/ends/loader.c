/* Threads that load and close libraries whose constructors launch kernels and wait for them, and as many that use the
 * runtime meanwhile: loader THREADS TIMES
 *
 * A thread that loads a library holds the loader's lock while constructors run, so threads of the driver must not ask the
 * loader for anything. Functions here come before those of the C library and count calls of threads that are not the
 * program's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int cudaMalloc(void **, size_t);
int cudaFree(void *);
int cudaMemset(void *, int, size_t);
int cudaMemcpyAsync(void *, const void *, size_t, int, void *);
int cudaStreamCreate(void **);
int cudaStreamDestroy(void *);
int cudaStreamSynchronize(void *);
int cudaDeviceSynchronize(void);

static _Thread_local int is_mine;
static atomic_int calls;

static void *real(const char *name)
{
    const char *versions[] = {"GLIBC_2.34", "GLIBC_2.18", "GLIBC_2.17", "GLIBC_2.2.5"};
    void *found = NULL;
    for (int i = 0; i < 4 && !found; i++)
        found = dlvsym(RTLD_NEXT, name, versions[i]);
    return found;
}

static void count(const char *name)
{
    if (!is_mine) {
        atomic_fetch_add(&calls, 1);
        fprintf(stderr, "a thread of the driver calls %s\n", name);
    }
}

int __cxa_thread_atexit_impl(void (*function)(void *), void *object, void *library)
{
    count("__cxa_thread_atexit_impl");
    int (*next)(void (*)(void *), void *, void *) = real("__cxa_thread_atexit_impl");
    return next(function, object, library);
}

void *dlopen(const char *file, int mode)
{
    count("dlopen");
    void *(*next)(const char *, int) = real("dlopen");
    return next(file, mode);
}

void *dlsym(void *library, const char *name)
{
    count("dlsym");
    void *(*next)(void *, const char *) = real("dlsym");
    return next(library, name);
}

static int times;

static void *load(void *name)
{
    is_mine = 1;
    for (int i = 0; i < times; i++) {
        void *library = dlopen(name, RTLD_NOW);
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            _exit(3);
        }
        dlclose(library);
    }
    return NULL;
}

static void *use(void *unused)
{
    is_mine = 1;
    for (int i = 0; i < times; i++) {
        void *memory, *stream;
        unsigned value = 1;
        if (cudaMalloc(&memory, 64) || cudaMemset(memory, 0, 64) || cudaStreamCreate(&stream)
            || cudaMemcpyAsync(&value, memory, sizeof value, 2, stream) || cudaStreamSynchronize(stream)
            || cudaStreamDestroy(stream) || cudaDeviceSynchronize() || cudaFree(memory) || value != 0) {
            fprintf(stderr, "a call of the runtime failed\n");
            _exit(3);
        }
    }
    return unused;
}

int main(int argc, char **words)
{
    int most = argc == 3 ? atoi(words[1]) : 0;
    pthread_t threads[64], users[64];
    char names[64][32];
    is_mine = 1;
    times = argc == 3 ? atoi(words[2]) : 0;
    alarm(300);
    for (int i = 0; i < most && i < 64; i++) {
        snprintf(names[i], sizeof names[i], "./libload%d.so", i);
        pthread_create(&threads[i], NULL, load, names[i]);
        pthread_create(&users[i], NULL, use, NULL);
    }
    for (int i = 0; i < most && i < 64; i++) {
        pthread_join(threads[i], NULL);
        pthread_join(users[i], NULL);
    }
    printf("%d calls\n", atomic_load(&calls));
    return 0;
}
