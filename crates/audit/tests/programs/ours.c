/* The runtime that is called instead. Results say which function and version it was. */
#include <stdio.h>
#define BOTH(name) \
    __asm__(".symver " #name "_12, " #name "@libcudart.so.12\n.symver " #name "_13, " #name "@@libcudart.so.13");

int cudaMalloc_12(void **to, unsigned long size) { return 1200 + size; }
int cudaMalloc_13(void **to, unsigned long size) { return 1300 + size; }
BOTH(cudaMalloc)
static int registered, handle;
int registered_12(void) { return registered; }
void **__cudaRegisterFatBinary_12(void *code) { __atomic_add_fetch(&registered, 1, __ATOMIC_RELAXED); return (void **)&handle; }
void **__cudaRegisterFatBinary_13(void *code) { __atomic_add_fetch(&registered, 1, __ATOMIC_RELAXED); return (void **)&handle; }
BOTH(__cudaRegisterFatBinary)
int __cudaUnregisterFatBinary_12(void **code) { return code == (void **)&handle ? 0 : 1; }
int __cudaUnregisterFatBinary_13(void **code) { return code == (void **)&handle ? 0 : 1; }
BOTH(__cudaUnregisterFatBinary)
int __cudaLaunchKernel_12(void) { return 1210; }
int __cudaLaunchKernel_13(void) { return 1310; }
BOTH(__cudaLaunchKernel)
int cudaLaunchKernel_ptsz_12(int stream) { return 1220 + stream; }
int cudaLaunchKernel_ptsz_13(int stream) { return 1320 + stream; }
BOTH(cudaLaunchKernel_ptsz)
const char *cudaGetErrorString_12(int code) { return "ours"; }
const char *cudaGetErrorString_13(int code) { return "ours"; }
BOTH(cudaGetErrorString)
double cudaSum_12(int a, long b, int c, long d, int e, long f, int g, long h, float i, double j, double k, double l,
                  double m, double n, double o, double p) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + i * j - k * l + m * n - o * p;
}
double cudaSum_13(int a, long b, int c, long d, int e, long f, int g, long h, float i, double j, double k, double l,
                  double m, double n, double o, double p) {
    return cudaSum_12(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
}
BOTH(cudaSum)
int cudaGetExportTable_12(const void **table, const void *id) { return 1230; }
int cudaGetExportTable_13(const void **table, const void *id) { return 1330; }
BOTH(cudaGetExportTable)
/* The version, if the other arguments are in their places. */
static int by_version(const char *name, void **to, unsigned version, unsigned long long flags, int *status) {
    return *name == 'f' && !to && flags == 77 && *status == 88 ? (int)version : -2;
}
int cudaGetDriverEntryPoint_12(const char *name, void **to, unsigned long long flags, int *status) { return 1240; }
int cudaGetDriverEntryPoint_13(const char *name, void **to, unsigned long long flags, int *status) { return 1340; }
BOTH(cudaGetDriverEntryPoint)
int cudaGetDriverEntryPointByVersion_12(const char *name, void **to, unsigned version, unsigned long long flags, int *status) {
    return by_version(name, to, version, flags, status);
}
int cudaGetDriverEntryPointByVersion_13(const char *name, void **to, unsigned version, unsigned long long flags, int *status) {
    return by_version(name, to, version, flags, status);
}
BOTH(cudaGetDriverEntryPointByVersion)
