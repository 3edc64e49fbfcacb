/* Code that nvcc would have made: it registers its kernels in a constructor, and calls the runtime there and later.
   NAME is the name of its function. */
#include <stdio.h>
#define QUOTED(name) #name
#define TEXT(name) QUOTED(name)
int cudaMalloc(void **to, unsigned long size);
int cudaRuntimeGetVersion(int *number);
void **__cudaRegisterFatBinary(void *code);
int __cudaUnregisterFatBinary(void **code);
int __cudaLaunchKernel(void);
int cudaLaunchKernel_ptsz(int stream);
int cudaNewerThanAll(void);
int cudaGetDriverEntryPoint(const char *name, void **to, unsigned long long flags, int *status);
int cudaGetExportTable(const void **table, const void *id);
const char *cudaGetErrorString(int code);
double cudaSum(int a, long b, int c, long d, int e, long f, int g, long h, float i, double j, double k, double l,
               double m, double n, double o, double p);

__attribute__((section(".nvFatBinSegment"), used)) static int segment[6] = {0x466243b1, 1};
static void **handle;
static int early;

int cudaMine(void), __cudaRegisterLinkedBinary_mine(int code);

static void end(void) { __cudaUnregisterFatBinary(handle); }
__attribute__((constructor)) static void begin(void) {
    handle = __cudaRegisterFatBinary(segment);
    early = cudaMalloc(0, 3);
}
__attribute__((destructor)) static void finish(void) { end(); }

int unknown(void) { return cudaNewerThanAll(); }

int NAME(int quiet) {
    int number = 0, status = 88, sum = cudaSum(1, 2, 3, 4, 5, 6, 7, 8, 0.5f, 2, 3, 5, 7, 11, 13, 17) * 2;
    int code = cudaRuntimeGetVersion(&number), none = cudaRuntimeGetVersion(0);
    int result = early == cudaMalloc(0, 3) && sum == 2 * (204 + 1 - 15 + 77 - 221) && __cudaUnregisterFatBinary(handle) == 0;
    if (!quiet) printf(TEXT(NAME) ": %s early %d kernel %d stream %d table %d version %d %d %d own %d %d text %s entry %d\n",
                       result ? "right" : "wrong", early, __cudaLaunchKernel(), cudaLaunchKernel_ptsz(5),
                       cudaGetExportTable(0, 0), number, code, none, cudaMine(),
                       __cudaRegisterLinkedBinary_mine(1), cudaGetErrorString(0),
                       cudaGetDriverEntryPoint("f", 0, 77, &status));
    return result ? 0 : 1;
}

/* Names of the program's own that look like the runtime's. The runtime is linked right after them. */
__attribute__((visibility("hidden"), noinline)) int cudaMine(void) { __asm__ volatile(""); return 7; }
__attribute__((visibility("hidden"), noinline)) int __cudaRegisterLinkedBinary_mine(int code) { __asm__ volatile(""); return code + 1; }
