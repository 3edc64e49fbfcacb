// __nv_bfloat16, in hardware from sm_90 on and through float below.
#include <cuda_bf16.h>

extern "C" __global__ void bf16_ops(__nv_bfloat16 *d, const __nv_bfloat16 *a, const __nv_bfloat16 *b) {
    int i = threadIdx.x;
    __nv_bfloat16 x = a[i], y = b[i];
    __nv_bfloat16 r = __hfma(x, y, __hadd(x, y));
    r = __hmax(r, __hsub(x, y));
    r = __hlt(x, y) ? __hneg(r) : __habs(r);
    r = __hadd(r, hexp(x));
    r = __hadd(r, hsin(y));
    d[i] = __hmin_nan(r, __hdiv(x, y));
}

extern "C" __global__ void bf16x2_ops(__nv_bfloat162 *d, const __nv_bfloat162 *a, const __nv_bfloat162 *b) {
    int i = threadIdx.x;
    __nv_bfloat162 x = a[i], y = b[i];
    __nv_bfloat162 r = __hfma2(x, y, __hmul2(x, y));
    r = __hadd2(r, __hle2(x, y));
    d[i] = __hmax2(r, __hneg2(x));
}

extern "C" __global__ void bf16_conversions(__nv_bfloat16 *d, const float *f, const double *g, float *e) {
    int i = threadIdx.x;
    d[3 * i] = __float2bfloat16_rn(f[i]);
    d[3 * i + 1] = __float2bfloat16_rz(f[i]);
    d[3 * i + 2] = __double2bfloat16(g[i]);
    __nv_bfloat162 p = __floats2bfloat162_rn(f[i], f[i + 1]);
    e[i] = __low2float(p) + __bfloat162float(d[3 * i]);
}
