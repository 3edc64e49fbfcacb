// Floating point: single, double, half, bfloat16, and functions of the mathematics library.
// A line that begins with `//@` says how the kernel below it is launched; see README.md.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define INDEX \
  ((((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * blockDim.z + threadIdx.z) * blockDim.y + threadIdx.y) * \
          blockDim.x + threadIdx.x

//@ saxpy(f32, f32, out, n, 2.5) any alias shift=4
extern "C" __global__ void saxpy(const float *x, const float *y, float *out, int n, float a) {
  int i = INDEX;
  if (i < n) out[i] = a * x[i] + y[i];
}

//@ saxpy_strided(f32, f32, n, 0.5) any shift=4
extern "C" __global__ void saxpy_strided(const float *x, float *y, int n, float a) {
  int total = gridDim.x * gridDim.y * gridDim.z * blockDim.x * blockDim.y * blockDim.z;
  for (int i = INDEX; i < 2 * n; i += total) y[i] += a * x[i];
}

//@ mandelbrot(out, w, h) 2d
extern "C" __global__ void mandelbrot(unsigned char *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float cx = -2.0f + 3.0f * x / width, cy = -1.0f + 2.0f * y / height, zx = 0, zy = 0;
  int count = 0;
  while (zx * zx + zy * zy < 4.0f && count < 50) {
    float next = zx * zx - zy * zy + cx;
    zy = 2 * zx * zy + cy;
    zx = next;
    count++;
  }
  out[y * width + x] = count;
}

//@ julia_double(out, w, h) 2d
extern "C" __global__ void julia_double(int *out, int width, int height) {
  int x = threadIdx.x + blockIdx.x * blockDim.x, y = threadIdx.y + blockIdx.y * blockDim.y;
  if (x >= width || y >= height) return;
  double zx = 1.5 * (width / 2 - x) / (width / 2 + 1), zy = 1.5 * (height / 2 - y) / (height / 2 + 1);
  int count = 0;
  for (; count < 30; count++) {
    double next = zx * zx - zy * zy - 0.8;
    zy = 2 * zx * zy + 0.156;
    zx = next;
    if (zx * zx + zy * zy > 1000) break;
  }
  out[y * width + x] = count;
}

//@ nbody(f32, out, n, k) any
extern "C" __global__ void nbody(const float4 *bodies, float4 *out, int n, int others) {
  int i = INDEX;
  if (i >= n) return;
  float4 me = bodies[i];
  float3 force = {0, 0, 0};
  for (int k = 0; k < others; k++) {
    float4 other = bodies[k];
    float3 d = {other.x - me.x, other.y - me.y, other.z - me.z};
    float square = d.x * d.x + d.y * d.y + d.z * d.z + 0.01f;
    float inverse = rsqrtf(square);
    float scale = other.w * inverse * inverse * inverse;
    force.x += d.x * scale;
    force.y += d.y * scale;
    force.z += d.z * scale;
  }
  out[i] = make_float4(force.x, force.y, force.z, me.w);
}

//@ nbody_shared(f32, out, n) 1d max=256
extern "C" __global__ void nbody_shared(const float4 *bodies, float *out, int n) {
  __shared__ float4 tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 me = bodies[i];
  float energy = 0;
  for (int from = 0; from < min(n, 128); from += blockDim.x) {
    tile[threadIdx.x] = bodies[from + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < blockDim.x; k++) {
      float4 other = tile[k];
      float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      energy += other.w / sqrtf(dx * dx + dy * dy + dz * dz + 0.5f);
    }
    __syncthreads();
  }
  if (i < n) out[i] = energy;
}

__device__ float normal(float d) {
  float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
  float c = 0.39894228f * expf(-0.5f * d * d) *
            (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return d > 0 ? 1.0f - c : c;
}

//@ black_scholes(positive, positive, out, n) any shift=4
extern "C" __global__ void black_scholes(const float *price, const float *strike, float2 *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  float s = price[i], x = strike[i], t = 0.5f, r = 0.02f, v = 0.3f, root = sqrtf(t);
  float d1 = (logf(s / x) + (r + 0.5f * v * v) * t) / (v * root), d2 = d1 - v * root;
  float discount = expf(-r * t), call = s * normal(d1) - x * discount * normal(d2);
  out[i] = make_float2(call, call - s + x * discount);
}

//@ functions_single(f32, out, n) any alias shift=4
extern "C" __global__ void functions_single(const float *in, float *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  float x = in[i];
  out[i] = sinf(x) + cosf(x) * tanhf(x) + expf(x) - logf(fabsf(x) + 1) + powf(fabsf(x), 1.3f) + atan2f(x, 0.7f) + erff(x) +
           cbrtf(x) + fmodf(x, 0.3f) + floorf(x) + rintf(x) + truncf(x);
}

//@ functions_fast(f32, out, n) any alias shift=4
extern "C" __global__ void functions_fast(const float *in, float *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  float x = in[i];
  out[i] = __sinf(x) + __cosf(x) + __expf(x) + __logf(x * x + 1) + __fdividef(x, 3) + __frcp_rn(x + 9) + rsqrtf(x * x + 1) +
           __saturatef(x) + __fmaf_rz(x, x, 1) + __fsqrt_rn(fabsf(x));
}

//@ functions_double(f64, out, n) any alias shift=8
extern "C" __global__ void functions_double(const double *in, double *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  double x = in[i];
  out[i] = exp(x) + sqrt(fabs(x)) / (x * x + 1) + log(fabs(x) + 1) + sin(x) * floor(x) + fmax(x, 0.1) + rsqrt(x * x + 2);
}

//@ half_axpy(f16, f16, out, n) any alias shift=2
extern "C" __global__ void half_axpy(const __half *a, const __half *b, __half *out, int n) {
  int i = INDEX;
  if (i < n) out[i] = __hfma(a[i], __float2half(0.5f), __hmax(b[i], __hneg(a[i])));
}

//@ half_pairs(f16, f16, out, n) any
extern "C" __global__ void half_pairs(const __half2 *a, const __half2 *b, __half2 *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  __half2 sum = __hadd2(a[i], b[i]);
  sum = __hmul2(sum, __floats2half2_rn(0.25f, 4.0f));
  out[i] = __hlt(__low2half(sum), __high2half(sum)) ? __lowhigh2highlow(sum) : h2exp(__hmin2(sum, __float2half2_rn(2.0f)));
}

//@ half_accumulate(f16, out, n, k) any
extern "C" __global__ void half_accumulate(const __half *in, float *out, int n, int length) {
  int i = INDEX;
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k < length; k++) sum += __half2float(in[i * length + k]);
  out[i] = sum + __half2float(__float2half_rz(sum));
}

//@ brain_floats(f32, out, n) any
extern "C" __global__ void brain_floats(const float *in, __nv_bfloat16 *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  __nv_bfloat16 x = __float2bfloat16(in[i]);
  x = __hfma(x, x, __float2bfloat16(0.5f));
  out[i] = __hgt(x, __float2bfloat16(1.0f)) ? __hmul(x, x) : __hsub(x, __float2bfloat16(3.0f));
}

//@ rounding(f32, out, n) any
extern "C" __global__ void rounding(const float *in, int4 *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  float x = in[i] * 1000.7f;
  out[i] = make_int4(__float2int_rn(x), __float2int_rz(x) + __float2int_ru(x) * 3, (int)__float2uint_rd(x),
                     (int)(__float2ll_rn(x * 1e6f) >> 3));
}

//@ conversions(u32, out, n) any
extern "C" __global__ void conversions(const int *in, double *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  int x = in[i];
  long long wide = (long long)x * 1000003;
  out[i] = (double)x + (float)x * 0.5 + (double)(unsigned)x + (double)wide + (float)(unsigned long long)wide +
           (signed char)x + (unsigned short)x;
}

//@ polynomial(f32, out, n) any alias shift=4
extern "C" __global__ void polynomial(const float *in, float *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  float x = in[i], y = 1;
#pragma unroll 1
  for (int k = 0; k < 12; k++) y = y * x + k;
  out[i] = y;
}

//@ newton(f64, out, n) any
extern "C" __global__ void newton(const double *in, double *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  double target = fabs(in[i]) + 0.1, x = target;
  for (int k = 0; k < 40; k++) {
    double next = 0.5 * (x + target / x);
    if (fabs(next - x) < 1e-12) break;
    x = next;
  }
  out[i] = x;
}

//@ monte_carlo(zero, n) any
extern "C" __global__ void monte_carlo(unsigned *out, int n) {
  unsigned i = INDEX;
  if (i >= n) return;
  unsigned state = i * 747796405u + 2891336453u, inside = 0;
  for (int k = 0; k < 12; k++) {
    state = state * 747796405u + 2891336453u;
    float x = (state >> 8) * (1.0f / 16777216);
    state = state * 747796405u + 2891336453u;
    float y = (state >> 8) * (1.0f / 16777216);
    inside += x * x + y * y < 1.0f;
  }
  atomicAdd(out, inside);
}

//@ kmeans_assign(f32, f32, out, n, k) any
extern "C" __global__ void kmeans_assign(const float *points, const float *centres, int *out, int n, int clusters) {
  int i = INDEX;
  if (i >= n) return;
  float best = 1e30f;
  int which = -1;
  for (int c = 0; c < clusters; c++) {
    float distance = 0;
    for (int d = 0; d < 3; d++) {
      float difference = points[i * 3 + d] - centres[c * 3 + d];
      distance += difference * difference;
    }
    if (distance < best) best = distance, which = c;
  }
  out[i] = which;
}

//@ special_values(u32, out, n) any
extern "C" __global__ void special_values(const unsigned *in, unsigned *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  float x = __uint_as_float(in[i]);
  unsigned kind = isnan(x) ? 1 : isinf(x) ? 2 : signbit(x) ? 3 : 4;
  out[i] = kind + __float_as_uint(fminf(x, 1.0f)) + __float_as_uint(copysignf(2.0f, x)) + (unsigned)ilogbf(x) +
           __float_as_uint(ldexpf(x, 3)) + __float_as_uint(nextafterf(x, 0.0f));
}

//@ complex_multiply(f32, f32, out, n) any
extern "C" __global__ void complex_multiply(const float2 *a, const float2 *b, float2 *out, int n) {
  int i = INDEX;
  if (i < n) out[i] = make_float2(a[i].x * b[i].x - a[i].y * b[i].y, a[i].x * b[i].y + a[i].y * b[i].x);
}

//@ fft_stage(f32, out, n, 4) any
extern "C" __global__ void fft_stage(const float2 *in, float2 *out, int n, int half) {
  int i = INDEX;
  if (2 * i + 1 >= n) return;
  int within = i % half, at = i / half * 2 * half + within;
  float angle = -3.14159265f * within / half;
  float2 twiddle = {cosf(angle), sinf(angle)}, a = in[at], b = in[at + half];
  float2 t = {twiddle.x * b.x - twiddle.y * b.y, twiddle.x * b.y + twiddle.y * b.x};
  out[at] = make_float2(a.x + t.x, a.y + t.y);
  out[at + half] = make_float2(a.x - t.x, a.y - t.y);
}
