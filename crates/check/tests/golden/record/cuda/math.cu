// The mathematical library.
extern "C" __global__ void math_f32(float *d, float x, float y, int n) {
    int i = 0;
    d[i++] = sinf(x); d[i++] = cosf(x); d[i++] = tanf(x); d[i++] = asinf(x); d[i++] = acosf(x); d[i++] = atan2f(x, y);
    d[i++] = expf(x); d[i++] = exp2f(x); d[i++] = logf(x); d[i++] = log2f(x); d[i++] = powf(x, y); d[i++] = sqrtf(x);
    d[i++] = rsqrtf(x); d[i++] = cbrtf(x); d[i++] = fmodf(x, y); d[i++] = remainderf(x, y); d[i++] = floorf(x);
    d[i++] = ceilf(x); d[i++] = truncf(x); d[i++] = rintf(x); d[i++] = roundf(x); d[i++] = fmaf(x, y, x);
    d[i++] = erff(x); d[i++] = tgammaf(x); d[i++] = hypotf(x, y); d[i++] = ldexpf(x, n); d[i++] = copysignf(x, y);
    d[i++] = fminf(x, y); d[i++] = fmaxf(x, y); d[i++] = tanhf(x); d[i++] = __frcp_rn(x); d[i++] = __fsqrt_rd(x);
    d[i++] = __fadd_rz(x, y); d[i++] = __fmul_ru(x, y); d[i++] = __fdiv_rn(x, y); d[i++] = __fmaf_rd(x, y, x);
    d[i++] = __sinf(x); d[i++] = __expf(x); d[i++] = __fdividef(x, y); d[i++] = __saturatef(x); d[i++] = j0f(x);
    d[i++] = isnan(x) + isinf(y) + signbit(x); d[i++] = __int_as_float(n); d[i++] = lrintf(x) + llroundf(y);
    d[i++] = __float2int_ru(x) + __float2uint_rd(y) + __float2ll_rz(x); d[i++] = __uint2float_rn(n); d[i++] = normcdff(x);
}

extern "C" __global__ void math_f64(double *d, double x, double y, int n) {
    int i = 0;
    d[i++] = sin(x); d[i++] = cos(x); d[i++] = exp(x); d[i++] = log(x); d[i++] = pow(x, y); d[i++] = sqrt(x);
    d[i++] = rsqrt(x); d[i++] = fmod(x, y); d[i++] = floor(x); d[i++] = rint(x); d[i++] = fma(x, y, x); d[i++] = erf(x);
    d[i++] = ldexp(x, n); d[i++] = __drcp_ru(x); d[i++] = __dsqrt_rz(x); d[i++] = __ddiv_rd(x, y); d[i++] = atan(x);
    d[i++] = __dadd_ru(x, y); d[i++] = __dmul_rz(x, y); d[i++] = __fma_rd(x, y, x); d[i++] = fmax(x, y);
    d[i++] = __double2int_rn(x) + __double2ll_ru(y) + __double2hiint(x) + __double2loint(y);
    d[i++] = __hiloint2double(n, n + 1); d[i++] = __ll2double_rd(n); d[i++] = (float)x; d[i++] = __double2float_ru(x);
    d[i++] = tanh(x); d[i++] = isfinite(x); d[i++] = nextafter(x, y); d[i++] = frexp(x, &n); d[i++] = sinpi(y) + n;
}
