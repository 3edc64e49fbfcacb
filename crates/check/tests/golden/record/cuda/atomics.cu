// Atomics: operations, types, scopes.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

extern "C" __global__ void global_atomics(int *i, unsigned *u, unsigned long long *l, float *f, double *d, long long *s) {
    atomicAdd(i, 1);
    i[1] = atomicSub(i, 2);
    i[2] = atomicExch(i, 3);
    i[3] = atomicMin(i, 4);
    i[4] = atomicMax(i, 5);
    u[1] = atomicInc(u, 6);
    u[2] = atomicDec(u, 7);
    u[3] = atomicMin(u, 8);
    u[4] = atomicMax(u, 8);
    i[5] = atomicCAS(i, 8, 9);
    i[6] = atomicAnd(i, 10);
    i[7] = atomicOr(i, 11);
    i[8] = atomicXor(i, 12);
    l[1] = atomicAdd(l, 13ull);
    l[2] = atomicCAS(l, 1ull, 2ull);
    l[3] = atomicAnd(l, 1ull);
    s[1] = atomicMin(s, 5ll);
    f[1] = atomicAdd(f, 1.0f);
    d[1] = atomicAdd(d, 1.0);
    f[2] = atomicExch(f, 2.0f);
}

extern "C" __global__ void scopes(int *i, unsigned long long *l, unsigned short *h) {
    i[1] = atomicAdd_block(i, 1);
    i[2] = atomicAdd_system(i, 1);
    l[1] = atomicCAS_system(l, 1, 2);
    l[2] = atomicMax_block(l, 2);
    h[1] = atomicCAS(h, (unsigned short)1, (unsigned short)2);
}

extern "C" __global__ void halves(__half *h, __half2 *h2, __nv_bfloat16 *b, __nv_bfloat162 *b2) {
    h[1] = atomicAdd(h, __float2half(1.0f));
    h2[1] = atomicAdd(h2, __float2half2_rn(1.0f));
#if __CUDA_ARCH__ >= 800
    b[1] = atomicAdd(b, __float2bfloat16(1.0f));
    b2[1] = atomicAdd(b2, __float2bfloat162_rn(1.0f));
#endif
}

extern "C" __global__ void shared_atomics(int *out, float *f) {
    __shared__ int counts[64];
    __shared__ float sum;
    counts[threadIdx.x & 63] = 0;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&counts[out[threadIdx.x] & 63], 1);
    atomicMax(&counts[1], 7);
    atomicAdd(&sum, f[threadIdx.x]);
    __syncthreads();
    out[threadIdx.x] = counts[threadIdx.x & 63];
    *f = sum;
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void vectors(float2 *f2, float4 *f4) {
    atomicAdd(f2, make_float2(1, 2));
    f4[1] = atomicAdd(f4, make_float4(1, 2, 3, 4));
}
#endif
