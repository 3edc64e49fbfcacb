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
unsigned cuCtxSynchronize(void);
unsigned cuModuleLoadData(Handle *, const void *);
unsigned cuModuleGetFunction(Handle *, Handle, const char *);
unsigned cuModuleUnload(Handle);
unsigned cuLibraryLoadData(Handle *, const void *, void *, void *, unsigned, void *, void *, unsigned);
unsigned cuLibraryGetKernel(Handle *, Handle, const char *);
unsigned cuLibraryUnload(Handle);
unsigned cuMemAlloc_v2(Handle *, size_t);
unsigned cuMemFree_v2(Handle);
unsigned cuMemHostRegister_v2(void *, size_t, unsigned);
unsigned cuMemAllocAsync(Handle *, size_t, Handle);
unsigned cuMemFreeAsync(Handle, Handle);
unsigned cuMemsetD32_v2(Handle, unsigned, size_t);
unsigned cuMemsetD32Async(Handle, unsigned, size_t, Handle);
unsigned cuMemcpyHtoDAsync_v2(Handle, const void *, size_t, Handle);
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

static unsigned page[1024] __attribute__((aligned(4096)));

static void count(void *unused)
{
    seen[1]++;
}

/* What copies and functions of streams have written, seen by a function that `exit` calls. */
static void show(void)
{
    printf("%u %u\n", page[0], seen[1]);
    fflush(stdout);
}

static void show_later(void)
{
    Handle stream;
    MUST(cuMemHostRegister_v2(page, sizeof page, 0));
    MUST(cuStreamCreate(&stream, 0));
    launch_on(stream);
    MUST(cuMemcpyDtoHAsync_v2(page, counter, 4, stream));
    MUST(cuLaunchHostFunc(stream, count, NULL));
    atexit(show);
}

static void *synchronize(void *unused)
{
    MUST(cuCtxSetCurrent(context));
    cuCtxSynchronize();
    return unused;
}

static pthread_t waiting;

static void join(void)
{
    pthread_join(waiting, NULL);
    say("joined");
}

static void synchronize_at_exit(void)
{
    cuCtxSynchronize();
    say("synchronized");
}

/* Copies to the device what changes after the call, on a stream that waits for another one. */
static void copy_behind(int on_default)
{
    Handle stream, memory;
    unsigned value = 41, back = 0;
    MUST(cuMemAlloc_v2(&memory, 64));
    MUST(cuStreamCreate(&stream, 0));
    launch_on(on_default ? stream : 0);
    MUST(cuMemcpyHtoDAsync_v2(memory, &value, 4, on_default ? 0 : stream));
    value = 99;
    MUST(cuMemcpyDtoH_v2(&back, memory, 4));
    printf("%u\n", back);
}

static void free_from_another_context(void)
{
    Handle stream, second;
    MUST(cuStreamCreate(&stream, 1));
    launch_on(stream);
    launch_on(stream);
    MUST(cuCtxCreate_v2(&second, 0, 0));
    MUST(cuMemFree_v2(counter));
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
    if (IS("quick early"))
        at_quick_exit(at_end);
    start(IS("destroy"), name);
    if (IS("quick early"))
        quick_exit(0);
    if (IS("show")) {
        show_later();
        return 0;
    }
    if (IS("join")) {
        launch();
        pthread_create(&waiting, NULL, synchronize, NULL);
        usleep(20000);
        atexit(join);
        return 0;
    }
    if (IS("synchronize")) {
        atexit(synchronize_at_exit);
        launch();
        return 0;
    }
    if (IS("copy") || IS("copy default")) {
        copy_behind(IS("copy default"));
        return 0;
    }
    if (IS("free")) {
        free_from_another_context();
        return 0;
    }
    if (IS("signal")) {
        signal(SIGALRM, exit);
        for (int i = 0; i < 3; i++)
            launch();
        ualarm(1000, 0);
        for (;;)
            pause();
    }
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
