// A stand-in for libnvrtc.so.13 that forwards every call to the real library and adds -lineinfo to the options of a
// compilation, so that cubins have their PTX inside.
//
//     cc -shared -fPIC -O2 -Wl,-soname,libnvrtc.so.13 -o libnvrtc_lineinfo.so nvrtc_lineinfo.c -ldl
//     SOFTWARP_NVRTC=/path/of/the/real/libnvrtc.so.13 LD_PRELOAD=$PWD/libnvrtc_lineinfo.so program
//
// The loader finds this library by its name wherever a program asks for libnvrtc.so.13.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef long (*function)(long, long, long, long, long, long);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *library;

static void open_library(void) {
    const char *path = getenv("SOFTWARP_NVRTC");
    library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        fprintf(stderr, "nvrtc_lineinfo: SOFTWARP_NVRTC must name the real libnvrtc.so.13: %s\n",
                path ? dlerror() : "it is not set");
        exit(1);
    }
}

static function find(const char *name) {
    pthread_once(&once, open_library);
    function found = (function)dlsym(library, name);
    if (!found) {
        fprintf(stderr, "nvrtc_lineinfo: the real libnvrtc.so.13 has no %s\n", name);
        exit(1);
    }
    return found;
}

#define FORWARD(name) \
    long name(long a, long b, long c, long d, long e, long f) { \
        return find(#name)(a, b, c, d, e, f); \
    }

FORWARD(__nvrtcCPEx)
FORWARD(__nvrtcNvvmHandle)
FORWARD(nvrtcAddNameExpression)
FORWARD(nvrtcCreateProgram)
FORWARD(nvrtcDestroyProgram)
FORWARD(nvrtcGetBundledHeadersInfo)
FORWARD(nvrtcGetCUBIN)
FORWARD(nvrtcGetCUBINSize)
FORWARD(nvrtcGetErrorString)
FORWARD(nvrtcGetLTOIR)
FORWARD(nvrtcGetLTOIRSize)
FORWARD(nvrtcGetLoweredName)
FORWARD(nvrtcGetNumSupportedArchs)
FORWARD(nvrtcGetOptiXIR)
FORWARD(nvrtcGetOptiXIRSize)
FORWARD(nvrtcGetPCHCreateStatus)
FORWARD(nvrtcGetPCHHeapSize)
FORWARD(nvrtcGetPCHHeapSizeRequired)
FORWARD(nvrtcGetPTX)
FORWARD(nvrtcGetPTXSize)
FORWARD(nvrtcGetProgramLog)
FORWARD(nvrtcGetProgramLogSize)
FORWARD(nvrtcGetSupportedArchs)
FORWARD(nvrtcGetTileIR)
FORWARD(nvrtcGetTileIRSize)
FORWARD(nvrtcInstallBundledHeaders)
FORWARD(nvrtcRemoveBundledHeaders)
FORWARD(nvrtcSetFlowCallback)
FORWARD(nvrtcSetPCHHeapSize)
FORWARD(nvrtcVersion)

// Only machine code can have its PTX inside: -lineinfo is added where an option names a real architecture.
long nvrtcCompileProgram(void *program, int count, const char *const *options) {
    function compile = find("nvrtcCompileProgram");
    int real = 0;
    for (int i = 0; i < count; i++)
        real |= strstr(options[i], "sm_") != NULL;
    const char **all = count >= 0 ? malloc(((size_t)count + 1) * sizeof *all) : NULL;
    if (!real || !all) {
        free(all);
        return compile((long)program, count, (long)options, 0, 0, 0);
    }
    memcpy(all, options, (size_t)count * sizeof *all);
    all[count] = "-lineinfo";
    long result = compile((long)program, count + 1, (long)all, 0, 0, 0);
    free(all);
    return result;
}
