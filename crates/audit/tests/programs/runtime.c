/* A runtime as it is linked into programs: public functions among private ones, in one section, each at a multiple of
   16, one of them shorter than a jump, and the version as a constant in the code. Each returns -1: it must not be
   called. NUMBER is the version. */
#define FUNCTION(name, result, ...) \
    __attribute__((visibility("hidden"), noinline, aligned(16))) result name(__VA_ARGS__)
#define HASHED(part) libcudart_static_##part##f56f231a2e9957d049d0b66bdaa3b5d8846b80
#if NUMBER < 12080
#define PRIVATE(part) __cudart9##part
#else
#define PRIVATE(part) HASHED(part)
#endif

static volatile int called;
#define BODY { called++; called++; called++; called++; return -1; }

FUNCTION(PRIVATE(10), int, void) BODY
FUNCTION(cudaMalloc, int, void **to, unsigned long size) BODY
FUNCTION(cudaRuntimeGetVersion, int, int *number) BODY
FUNCTION(PRIVATE(11), int, int *number) { *number = NUMBER; return 0; }
FUNCTION(__cudaRegisterFatBinary, void **, void *code) { called++; called++; called++; return (void **)-1; }
FUNCTION(__cudaUnregisterFatBinary, int, void **code) BODY
FUNCTION(cudaSum, double, int a, long b, int c, long d, int e, long f, int g, long h, float i, double j, double k,
         double l, double m, double n, double o, double p) BODY
FUNCTION(cudaGetDriverEntryPoint, int, const char *name, void **to, unsigned long long flags, int *status) BODY
FUNCTION(cudaGetExportTable, int, const void **table, const void *id) BODY
FUNCTION(cudaLaunchKernel_ptsz, int, int stream) BODY
FUNCTION(cudaNewerThanAll, int, void) BODY
FUNCTION(cudaMemset, int, void *to, int value, unsigned long size) BODY
FUNCTION(cudaMemcpy, int, void *to, const void *from, unsigned long size, int kind) BODY
FUNCTION(cudaGetErrorString, const char *, int code) { called++; called++; called++; return "static"; }
#if NUMBER >= 12000 && NUMBER < 13000
FUNCTION(cudaGetDeviceProperties_v2, int, void *to, int device) BODY
#endif
#if NUMBER < 12000
FUNCTION(cudaBindTexture, int, void *to) BODY
#endif
/* 10 bytes, and 6 of padding */
__asm__(".text\n.p2align 4\n.hidden __cudaLaunchKernel\n.globl __cudaLaunchKernel\n"
        ".type __cudaLaunchKernel, @function\n__cudaLaunchKernel:\n.skip 9, 0x90\nret\n"
        ".size __cudaLaunchKernel, . - __cudaLaunchKernel\n.p2align 4\n");
__attribute__((visibility("hidden"), aligned(16), noinline)) int PRIVATE(12)(void) BODY
