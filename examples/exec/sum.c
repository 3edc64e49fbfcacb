/* Adds the numbers from 1 to n on the GPU, with the kernel `sum` of a PTX file: sum FILE.ptx [N] */
#include "driver.h"
#include <stdio.h>
#include <stdlib.h>

static void check(CUresult code, const char *call)
{
    const char *name = "unknown error";
    if (code == 0)
        return;
    cuGetErrorName(code, &name);
    fprintf(stderr, "%s: %s\n", call, name);
    exit(1);
}

#define CHECK(call) check(call, #call)

int main(int count, char **words)
{
    int n = count > 2 ? atoi(words[2]) : 1000;
    unsigned blocks = (n + 255) / 256;
    float *numbers = malloc((n > 0 ? n : 1) * sizeof *numbers), result = 0;
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction sum;
    CUdeviceptr on_device, total;
    void *arguments[] = {&on_device, &n, &total};

    if (count < 2 || n < 1 || !numbers) {
        fprintf(stderr, "usage: sum FILE.ptx [N]\n");
        return 2;
    }
    for (int i = 0; i < n; i++)
        numbers[i] = i + 1;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoad(&module, words[1]));
    CHECK(cuModuleGetFunction(&sum, module, "sum"));
    CHECK(cuMemAlloc_v2(&on_device, n * sizeof *numbers));
    CHECK(cuMemAlloc_v2(&total, sizeof result));
    CHECK(cuMemcpyHtoD_v2(on_device, numbers, n * sizeof *numbers));
    CHECK(cuMemsetD8_v2(total, 0, sizeof result));
    CHECK(cuLaunchKernel(sum, blocks, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH_v2(&result, total, sizeof result));
    CHECK(cuMemFree_v2(on_device));
    CHECK(cuMemFree_v2(total));
    printf("%.0f\n", result);
    free(numbers);
    return 0;
}
