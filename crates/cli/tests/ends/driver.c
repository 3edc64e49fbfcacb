/* A program of the driver API that ends in a given way while its launches may wait: driver MODE KERNEL */
#include "kernels.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long Handle;

unsigned cuInit(unsigned);
unsigned cuDevicePrimaryCtxRetain(Handle *, int);
unsigned cuDevicePrimaryCtxRelease_v2(int);
unsigned cuDevicePrimaryCtxReset_v2(int);
unsigned cuCtxCreate_v2(Handle *, unsigned, int);
unsigned cuCtxDestroy_v2(Handle);
unsigned cuCtxSetCurrent(Handle);
unsigned cuModuleLoadData(Handle *, const void *);
unsigned cuModuleGetFunction(Handle *, Handle, const char *);
unsigned cuModuleUnload(Handle);
unsigned cuLibraryLoadData(Handle *, const void *, void *, void *, unsigned, void *, void *, unsigned);
unsigned cuLibraryGetKernel(Handle *, Handle, const char *);
unsigned cuLibraryUnload(Handle);
unsigned cuMemAlloc_v2(Handle *, size_t);
unsigned cuMemAllocAsync(Handle *, size_t, Handle);
unsigned cuMemFreeAsync(Handle, Handle);
unsigned cuMemsetD32_v2(Handle, unsigned, size_t);
unsigned cuMemsetD32Async(Handle, unsigned, size_t, Handle);
unsigned cuMemcpyDtoH_v2(void *, Handle, size_t);
unsigned cuMemcpyDtoHAsync_v2(void *, Handle, size_t, Handle);
unsigned cuStreamCreate(Handle *, unsigned);
unsigned cuStreamDestroy_v2(Handle);
unsigned cuStreamWaitEvent(Handle, Handle, unsigned);
unsigned cuStreamWaitValue32_v2(Handle, Handle, unsigned, unsigned);
unsigned cuStreamBeginCapture_v2(Handle, unsigned);
unsigned cuStreamEndCapture(Handle, Handle *);
unsigned cuGraphInstantiateWithFlags(Handle *, Handle, unsigned long long);
unsigned cuGraphLaunch(Handle, Handle);
unsigned cuEventCreate(Handle *, unsigned);
unsigned cuEventRecord(Handle, Handle);
unsigned cuLaunchHostFunc(Handle, void (*)(void *), void *);
unsigned cuLaunchKernel(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void **,
                        void **);

static void must(unsigned code, const char *call)
{
    if (code != 0) {
        fprintf(stderr, "%s: %u\n", call, code);
        _exit(3);
    }
}

#define MUST(call) must(call, #call)

static Handle context, owner, kernel, counter, other;
static int is_library;
static unsigned seen[8];

static void launch_on(Handle stream)
{
    void *arguments[] = {&counter};
    MUST(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

static void launch(void)
{
    launch_on(0);
}

static void say(void *what)
{
    printf("%s\n", (const char *)what);
    fflush(stdout);
}

static void leave(void *code)
{
    exit((int)(long)code);
}

static void read_counter(void)
{
    unsigned value = 0;
    MUST(cuMemcpyDtoH_v2(&value, counter, 4));
    printf("%u\n", value);
}

static void start(int own_context, const char *name)
{
    MUST(cuInit(0));
    if (own_context)
        MUST(cuCtxCreate_v2(&context, 0, 0));
    else
        MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    if (is_library) {
        MUST(cuLibraryLoadData(&owner, KERNELS, NULL, NULL, 0, NULL, NULL, 0));
        MUST(cuLibraryGetKernel(&kernel, owner, name));
    } else {
        MUST(cuModuleLoadData(&owner, KERNELS));
        MUST(cuModuleGetFunction(&kernel, owner, name));
    }
    MUST(cuMemAlloc_v2(&counter, 64));
    MUST(cuMemsetD32_v2(counter, 0, 16));
}

static void *launch_five(void *unused)
{
    Handle stream;
    MUST(cuCtxSetCurrent(context));
    MUST(cuStreamCreate(&stream, 1));
    for (int i = 0; i < 5; i++)
        launch_on(stream);
    return unused;
}

static void streams(void)
{
    Handle made[3], event, memory;
    MUST(cuEventCreate(&event, 2));
    for (int i = 0; i < 3; i++) {
        MUST(cuStreamCreate(&made[i], 1));
        if (i > 0)
            MUST(cuStreamWaitEvent(made[i], event, 0));
        launch_on(made[i]);
        launch_on(made[i]);
        MUST(cuEventRecord(event, made[i]));
    }
    MUST(cuMemAllocAsync(&memory, 64, made[2]));
    MUST(cuMemcpyDtoHAsync_v2(seen, counter, 4, made[2]));
    MUST(cuMemFreeAsync(memory, made[2]));
    MUST(cuLaunchHostFunc(made[2], say, "called"));
    launch_on(made[2]);
    MUST(cuStreamDestroy_v2(made[2]));
}

static void graph(void)
{
    Handle stream, made, executable;
    MUST(cuStreamCreate(&stream, 1));
    MUST(cuStreamBeginCapture_v2(stream, 0));
    launch_on(stream);
    launch_on(stream);
    MUST(cuLaunchHostFunc(stream, say, "called"));
    MUST(cuStreamEndCapture(stream, &made));
    MUST(cuGraphInstantiateWithFlags(&executable, made, 0));
    MUST(cuGraphLaunch(executable, stream));
    MUST(cuGraphLaunch(executable, stream));
}

static void at_end(void)
{
    launch();
    launch();
}

/* The last of the program's own functions. */
__attribute__((destructor)) static void at_last(void)
{
    if (getenv("AT_LAST"))
        at_end();
    if (other)
        MUST(cuMemsetD32Async(counter, 7, 1, other));
}

int main(int count, char **words)
{
    const char *mode = count > 2 ? words[1] : "", *name = count > 2 ? words[2] : "";
    is_library = getenv("LIBRARY") != NULL;
#define IS(word) (strcmp(mode, word) == 0)
    if (IS("before"))
        raise(SIGKILL);
    start(IS("destroy"), name);
    if (IS("ready"))
        raise(SIGKILL);
    if (IS("streams")) {
        streams();
        return 0;
    }
    if (IS("graph")) {
        graph();
        return 0;
    }
    if (IS("threads")) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, launch_five, NULL);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        return 0;
    }
    if (IS("atexit")) {
        atexit(at_end);
        return 0;
    }
    if (IS("last"))
        return 0;
    if (IS("callback")) {
        Handle stream;
        MUST(cuStreamCreate(&stream, 1));
        launch_on(stream);
        MUST(cuLaunchHostFunc(stream, leave, (void *)5));
        if (getenv("MORE"))
            launch_on(stream);
        for (;;)
            pause();
    }
    if (IS("flag")) {
        Handle stream;
        MUST(cuStreamCreate(&stream, 1));
        MUST(cuStreamCreate(&other, 1));
        launch_on(stream);
        return 0;
    }
    if (IS("value")) {
        MUST(cuStreamWaitValue32_v2(0, counter, 1, 0));
        launch();
        return 0;
    }
    for (int i = 0; i < 3; i++)
        launch();
    if (IS("unload")) {
        MUST(is_library ? cuLibraryUnload(owner) : cuModuleUnload(owner));
        read_counter();
    } else if (IS("destroy")) {
        MUST(cuCtxDestroy_v2(context));
    } else if (IS("reset")) {
        MUST(cuDevicePrimaryCtxReset_v2(0));
    } else if (IS("release")) {
        MUST(cuDevicePrimaryCtxRelease_v2(0));
    } else if (IS("exit")) {
        exit(0);
    } else if (IS("quick")) {
        quick_exit(0);
    } else if (IS("fork")) {
        int status = 0;
        pid_t child = fork();
        if (child == 0)
            exit(0);
        waitpid(child, &status, 0);
        return status;
    } else {
        /* Ends at once, after a while in which the kernel begins. */
        int wait = getenv("WAIT") ? atoi(getenv("WAIT")) : 0;
        usleep(wait * 1000);
        if (IS("_exit"))
            _exit(0);
        if (IS("abort"))
            abort();
        if (IS("kill"))
            raise(SIGKILL);
        if (IS("term"))
            raise(SIGTERM);
        if (IS("segfault"))
            *(volatile int *)8 = 1;
    }
    return 0;
}
