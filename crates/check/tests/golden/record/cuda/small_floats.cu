// FP8, FP6 and FP4 through the headers of the toolkit.
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

extern "C" __global__ void fp8(unsigned short *d, const float2 *f, __half2 *h) {
    int i = threadIdx.x;
    __nv_fp8x2_e4m3 a(f[i]);
    __nv_fp8x2_e5m2 b(f[i]);
    d[2 * i] = a.__x;
    d[2 * i + 1] = b.__x;
    h[2 * i] = __half2(a);
    h[2 * i + 1] = __half2(b);
}

extern "C" __global__ void fp6(unsigned short *d, const float2 *f, __half2 *h) {
    int i = threadIdx.x;
    __nv_fp6x2_e3m2 a(f[i]);
    __nv_fp6x2_e2m3 b(f[i]);
    d[2 * i] = a.__x;
    d[2 * i + 1] = b.__x;
    h[2 * i] = __half2(a);
    h[2 * i + 1] = __half2(b);
}

extern "C" __global__ void fp4(unsigned char *d, const float2 *f, __half2 *h) {
    int i = threadIdx.x;
    __nv_fp4x2_e2m1 a(f[i]);
    d[i] = a.__x;
    h[i] = __half2(a);
}

extern "C" __global__ void scales(unsigned char *d, const float *f) {
    int i = threadIdx.x;
    d[i] = __nv_cvt_float_to_e8m0(f[i], __NV_SATFINITE, cudaRoundPosInf);
}
