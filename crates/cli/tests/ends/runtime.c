/* What nvcc makes of a program with `k<<<…>>>()`, by hand: the code registers itself when it is loaded and asks to be
 * unregistered at the end. With -DSHARED it is a library, which the program of plugin.c opens and closes. With -DAT_LOAD
 * the library launches when it is loaded, and waits for a copy of the result; loader.c loads it. */
#include "kernels.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { unsigned x, y, z; } Sizes;

void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
int cudaLaunchKernel(const void *, Sizes, Sizes, void **, size_t, void *);
int cudaMalloc(void **, size_t);
int cudaMemset(void *, int, size_t);
int cudaMemcpyAsync(void *, const void *, size_t, int, void *);
int cudaStreamSynchronize(void *);
int cudaFree(void *);
int cudaDeviceReset(void);

static struct { unsigned magic, version; const void *data; void *parts; } wrapper;
static unsigned char image[16 + 64 + sizeof KERNELS + 8];
static void **binary;
static char stub;
static void *counter;

static void put(size_t at, unsigned long long value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        image[at + i] = value >> 8 * i;
}

static void unregister(void)
{
    __cudaUnregisterFatBinary(binary);
}

#ifdef AT_LOAD
static void work_at_load(void);
#endif

__attribute__((constructor)) static void register_all(void)
{
    const char *name = getenv("KERNEL");
    size_t text = (sizeof KERNELS + 7) / 8 * 8;
    /* A fat binary with one PTX text. */
    put(0, 0xba55ed50, 4), put(4, 1, 2), put(6, 16, 2), put(8, 64 + text, 8);
    put(16, 1, 2), put(18, 0x101, 2), put(20, 64, 4), put(24, text, 8);
    put(42, 8, 2), put(44, 80, 4), put(56, 0x11, 8);
    memcpy(image + 80, KERNELS, sizeof KERNELS);
    wrapper.magic = 0x466243b1, wrapper.version = 1, wrapper.data = image;
    binary = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(binary, &stub, (char *)name, name, -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(binary);
    atexit(unregister);
#ifdef AT_LOAD
    work_at_load();
#endif
}

static void launch(void)
{
    Sizes one = {1, 1, 1};
    void *arguments[] = {&counter};
    int code = cudaLaunchKernel(&stub, one, one, arguments, 0, NULL);
    if (code != 0) {
        fprintf(stderr, "cudaLaunchKernel: %d\n", code);
        _exit(3);
    }
}

void work(void)
{
    if (!counter && (cudaMalloc(&counter, 64) != 0 || cudaMemset(counter, 0, 64) != 0))
        _exit(3);
    for (int i = 0; i < 3; i++)
        launch();
}

#ifdef AT_LOAD
/* Three launches, and a copy that comes after them. */
static void work_at_load(void)
{
    unsigned sum = 0;
    work();
    if (cudaMemcpyAsync(&sum, counter, sizeof sum, 2, NULL) != 0 || cudaStreamSynchronize(NULL) != 0 || sum != 3) {
        fprintf(stderr, "%u launches have counted\n", sum);
        _exit(3);
    }
    cudaFree(counter);
}
#endif

#ifndef SHARED
int main(int count, char **words)
{
    work();
    if (count > 1 && strcmp(words[1], "reset") == 0)
        cudaDeviceReset();
    if (count > 1 && strcmp(words[1], "atexit") == 0)
        atexit(work);
    return 0;
}
#endif
