// __half and __half2.
#include <cuda_fp16.h>

extern "C" __global__ void half_ops(__half *d, const __half *a, const __half *b) {
    int i = threadIdx.x;
    __half x = a[i], y = b[i];
    __half r = __hfma(x, y, __hadd(x, y));
    r = __hsub(r, __hdiv(x, y));
    r = __hlt(x, y) ? __hneg(r) : __habs(r);
    r = __hmax(r, hexp2(x));
    r = __hmin(r, hlog2(y));
    r = __hadd_sat(r, hsqrt(x));
    r = __hmul(r, hrcp(y));
    r = __hadd(r, htanh_approx(x));
    d[i] = r;
}

extern "C" __global__ void half2_ops(__half2 *d, const __half2 *a, const __half2 *b) {
    int i = threadIdx.x;
    __half2 x = a[i], y = b[i];
    __half2 r = __hfma2_relu(x, y, __hadd2(x, y));
    r = __hmul2_sat(r, h2sqrt(y));
    r = __hadd2(r, __hgt2(x, y));
    r = __hmax2_nan(r, __lowhigh2highlow(x));
    r = __halves2half2(__low2half(r), __high2half(x));
    d[i] = __hmin2(r, __hneg2(y));
}

extern "C" __global__ void half_conversions(__half *d, const float *f, const double *g, const int *n, int *m, float *e) {
    int i = threadIdx.x;
    d[6 * i + 0] = __float2half_rn(f[i]);
    d[6 * i + 1] = __float2half_rz(f[i]);
    d[6 * i + 2] = __double2half(g[i]);
    d[6 * i + 3] = __int2half_rd(n[i]);
    d[6 * i + 4] = __ushort2half_ru((unsigned short)n[i]);
    d[6 * i + 5] = __ll2half_rn((long long)n[i]);
    m[i] = __half2int_rn(d[6 * i]) + __half2uint_rz(d[6 * i + 1]) + (int)__half2ll_ru(d[6 * i + 2]);
    e[i] = __half2float(d[6 * i]);
}
