// Kernels of many kinds, as programs have them (`bench/src/bin/field.rs`): bytes, halves and doubles, arrays of threads,
// calls, gathers, atomic operations, switches, shuffles and votes, volatile and acquiring loads, asynchronous copies, and
// products of matrices.
//
// field.ptx was made of it by: nvcc -ptx -arch=compute_90 field.cu

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_pipeline.h>
#include <mma.h>

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define KERNEL extern "C" __global__ void
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define ALL 0xffffffff

KERNEL dgemm(const double *a, double *c) {
    int i = INDEX, row = i >> 7, column = i & 127;
    double sum = 0;
    for (int k = 0; k < 128; k++) sum += a[row * 128 + k] * a[k * 128 + column];
    c[i] = sum;
}

KERNEL layernorm(const float *in, float *out) {
    __shared__ float sums[8], squares[8];
    int t = threadIdx.x;
    const float *row = in + blockIdx.x * 1024;
    float s = 0, q = 0;
    for (int i = t; i < 1024; i += 256) {
        float v = row[i];
        s += v;
        q += v * v;
    }
    for (int o = 16; o; o >>= 1) {
        s += __shfl_xor_sync(ALL, s, o);
        q += __shfl_xor_sync(ALL, q, o);
    }
    if ((t & 31) == 0) sums[t >> 5] = s, squares[t >> 5] = q;
    __syncthreads();
    s = q = 0;
    for (int i = 0; i < 8; i++) s += sums[i], q += squares[i];
    float mean = s / 1024, factor = rsqrtf(q / 1024 - mean * mean + 1e-5f);
    for (int i = t; i < 1024; i += 256) out[blockIdx.x * 1024 + i] = (row[i] - mean) * factor;
}

KERNEL convolution(const float *in, float *out) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float s = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int u = x + dx, v = y + dy;
            if (u >= 0 && u < 512 && v >= 0 && v < 512) s += in[v * 512 + u] * (float)(dx * 3 + dy + 2);
        }
    out[y * 512 + x] = s;
}

KERNEL heat(const float *in, float *out) {
    __shared__ float t[10][34];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y;
    t[y + 1][x + 1] = in[row * 512 + column];
    if (x == 0) t[y + 1][0] = in[row * 512 + max(column - 1, 0)];
    if (x == 31) t[y + 1][33] = in[row * 512 + min(column + 1, 511)];
    if (y == 0) t[0][x + 1] = in[max(row - 1, 0) * 512 + column];
    if (y == 7) t[9][x + 1] = in[min(row + 1, 511) * 512 + column];
    __syncthreads();
    out[row * 512 + column] = 0.25f * (t[y][x + 1] + t[y + 2][x + 1] + t[y + 1][x] + t[y + 1][x + 2]);
}

KERNEL life(const u8 *in, u8 *out) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, n = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) n += in[((y + dy) & 511) * 512 + ((x + dx) & 511)] & 1;
    out[y * 512 + x] = n == 3 || (n == 4 && in[y * 512 + x] & 1);
}

KERNEL bitonic(const u32 *in, u32 *out) {
    __shared__ u32 s[512];
    int t = threadIdx.x;
    u32 first = blockIdx.x * 512;
    s[t] = in[first + t];
    s[t + 256] = in[first + t + 256];
    __syncthreads();
    for (u32 k = 2; k <= 512; k <<= 1)
        for (u32 j = k >> 1; j; j >>= 1) {
            u32 i = 2 * t - (t & (j - 1)), x = s[i], y = s[i + j];
            if ((x > y) == !(i & k)) s[i] = y, s[i + j] = x;
            __syncthreads();
        }
    out[first + t] = s[t];
    out[first + t + 256] = s[t + 256];
}

KERNEL fft(const float2 *in, float2 *out) {
    __shared__ float2 s[512];
    int t = threadIdx.x;
    u32 first = blockIdx.x * 512;
    s[__brev(t) >> 23] = in[first + t];
    s[__brev(t + 256) >> 23] = in[first + t + 256];
    __syncthreads();
    for (int m = 1; m < 512; m <<= 1) {
        int k = t & (m - 1), j = 2 * (t - k) + k;
        float sine, cosine;
        __sincosf(-3.14159265f * k / m, &sine, &cosine);
        float2 u = s[j], v = s[j + m];
        float2 w = make_float2(v.x * cosine - v.y * sine, v.x * sine + v.y * cosine);
        s[j] = make_float2(u.x + w.x, u.y + w.y);
        s[j + m] = make_float2(u.x - w.x, u.y - w.y);
        __syncthreads();
    }
    out[first + t] = s[t];
    out[first + t + 256] = s[t + 256];
}

KERNEL grey(const u8 *in, u8 *out) {
    u32 i = INDEX;
    out[i] = (77 * in[3 * i] + 150 * in[3 * i + 1] + 29 * in[3 * i + 2]) >> 8;
}

KERNEL lookup(const u8 *in, u8 *out) {
    __shared__ u8 table[256];
    table[threadIdx.x] = (threadIdx.x * 7) ^ 0x5a;
    __syncthreads();
    u8 c = in[INDEX];
    for (int k = 0; k < 8; k++) c = table[c];
    out[INDEX] = c;
}

KERNEL digits(const char *in, u32 *out) {
    u32 i = INDEX, n = 0;
    for (int k = 0; k < 32; k++) {
        char c = in[i * 32 + k];
        if (c == 'a' || (c >= '0' && c <= '9')) n++;
    }
    out[i] = n;
}

KERNEL haxpy(const __half2 *in, __half2 *out) { out[INDEX] = __hfma2(in[INDEX], __float2half2_rn(1.5f), out[INDEX]); }

KERNEL bf16gemv(const __nv_bfloat16 *in, float *out) {
    u32 i = INDEX;
    float s = 0;
    for (int k = 0; k < 64; k++) s += __bfloat162float(in[k * 2048 + (i & 2047)]) * (float)k;
    out[i] = s;
}

KERNEL dp4a(const int *in, int *out) {
    u32 i = INDEX;
    int s = 0;
    for (int k = 0; k < 64; k++) s = __dp4a(in[k * 64 + (i & 63)], in[(i >> 6) + k * 16], s);
    out[i] = s;
}

KERNEL insertion(const float *in, float *out) {
    u32 i = INDEX;
    float a[16];
    for (int k = 0; k < 16; k++) a[k] = in[(i * 16 + k) & 0xfffff];
    for (int k = 1; k < 16; k++) {
        float v = a[k];
        int j = k;
        for (; j > 0 && a[j - 1] > v; j--) a[j] = a[j - 1];
        a[j] = v;
    }
    out[i] = a[8];
}

__device__ __noinline__ float horner(float x, int degree) {
    float s = 1;
    for (int i = 0; i < degree; i++) s = s * x + 0.5f;
    return s;
}

KERNEL calls(const float *in, float *out) {
    float s = 0;
    for (int k = 0; k < 8; k++) s += horner(in[INDEX] * 0.1f, 4 + (k & 3));
    out[INDEX] = s;
}

KERNEL trigonometry(const float *in, float *out) { out[INDEX] = sinf(in[INDEX]) * cosf(in[INDEX] + 1); }

KERNEL powers(const float *in, float *out) {
    float x = in[INDEX];
    out[INDEX] = powf(fabsf(x) + 0.5f, 1.7f) + expf(x) + logf(fabsf(x) + 1);
}

KERNEL gelu(const float *in, float *out) {
    float x = in[INDEX];
    out[INDEX] = 0.5f * x * (1 + erff(x * 0.70710678f));
}

KERNEL doubles(const double *in, double *out) {
    double x = in[INDEX];
    out[INDEX] = sqrt(x * x + 1) / (fabs(x) + 2) + exp(-x * x);
}

KERNEL hash64(const u64 *in, u64 *out) {
    u64 h = in[INDEX];
    for (int k = 0; k < 8; k++) {
        h ^= h >> 33;
        h *= 0xff51afd7ed558ccdull;
        h ^= h >> 33;
        h *= 0xc4ceb9fe1a85ec53ull;
        h += __umul64hi(h, 0x9e3779b97f4a7c15ull) + __popcll(h);
    }
    out[INDEX] = h;
}

KERNEL choices(const u32 *in, u32 *out) {
    u32 x = in[INDEX];
    for (int k = 0; k < 16; k++)
        switch (x & 7) {
        case 0: x = x * 3 + 1; break;
        case 1: x ^= 0x1234567; break;
        case 2: x += k * 77; break;
        case 3: x = (x << 5) | (x >> 27); break;
        case 4: x -= 999; break;
        case 5: x = ~x; break;
        case 6: x = x / 3; break;
        default: x >>= 1;
        }
    out[INDEX] = x;
}

KERNEL votes(const u32 *in, u32 *out) {
    u32 x = in[INDEX], s = 0;
    for (int k = 0; k < 16; k++) {
        u32 m = __ballot_sync(ALL, x & (1 << k));
        s += __popc(m & ((1u << (threadIdx.x & 31)) - 1));
        s += __shfl_down_sync(ALL, x, k);
        s ^= __match_any_sync(ALL, (x >> k) & 3);
    }
    out[INDEX] = s;
}

KERNEL sums(const float *in, float *out) {
    float v = in[INDEX];
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(ALL, v, o);
    if ((threadIdx.x & 31) == 0) atomicAdd(out, v);
}

KERNEL bins(const u32 *in, u32 *out) { atomicAdd(&out[in[INDEX] & 1023], 1); }

KERNEL chase(const u32 *in, u32 *out) {
    u32 p = INDEX;
    for (int k = 0; k < 16; k++) p = in[p & 0x3ffff];
    out[INDEX] = p;
}

KERNEL neighbours(const u32 *in, u32 *out) {
    u32 v = INDEX, first = in[v] & 0xffff, end = first + (in[v] >> 28), least = ALL;
    for (u32 k = first; k < end; k++) least = min(least, in[in[k & 0xfffff] & 0xffff]);
    out[v] = least;
}

KERNEL argmax(const float *in, u64 *out) {
    __shared__ float most[256];
    __shared__ int at[256];
    int t = threadIdx.x, best = 0;
    float value = -1e30f;
    for (int i = t; i < 1024; i += 256) {
        float x = in[blockIdx.x * 1024 + i];
        if (x > value) value = x, best = i;
    }
    most[t] = value;
    at[t] = best;
    __syncthreads();
    for (int h = 128; h; h >>= 1) {
        if (t < h && (most[t + h] > most[t] || (most[t + h] == most[t] && at[t + h] < at[t])))
            most[t] = most[t + h], at[t] = at[t + h];
        __syncthreads();
    }
    if (!t) out[blockIdx.x] = at[0];
}

KERNEL collatz(u32 *out) {
    u64 x = INDEX + 1;
    u32 n = 0;
    for (; x != 1 && n < 200; n++) x = x & 1 ? 3 * x + 1 : x >> 1;
    out[INDEX] = n;
}

KERNEL modular(const u64 *in, u64 *out) {
    u64 b = (in[INDEX] & 0x7fffffff) + 2, r = 1;
    for (u32 e = INDEX + 12345; e; e >>= 1) {
        if (e & 1) r = r * b % 0x7fffffe7;
        b = b * b % 0x7fffffe7;
    }
    out[INDEX] = r;
}

KERNEL volatiles(const float *in, float *out) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = in[INDEX] + in[INDEX + 131072];
    __syncthreads();
    for (int k = 128; k > 32; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t < 32) {
        volatile float *v = s;
        v[t] += v[t + 32], v[t] += v[t + 16], v[t] += v[t + 8];
        v[t] += v[t + 4], v[t] += v[t + 2], v[t] += v[t + 1];
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

KERNEL acquires(const u32 *in, u32 *out) {
    cuda::atomic_ref<const u32, cuda::thread_scope_device> r(in[INDEX]);
    u32 s = 0;
    for (int i = 0; i < 16; i++) s += r.load(cuda::memory_order_acquire);
    out[INDEX] = s;
}

KERNEL tiles(const float *in, float *out) {
    auto tile = cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block());
    float v = cooperative_groups::reduce(tile, in[INDEX], cooperative_groups::plus<float>());
    if (tile.thread_rank() == 0) out[INDEX / 16] = v;
}

KERNEL rotations(const float *in, float *out) {
    float x = in[INDEX];
    unsigned m = __activemask();
    for (int i = 0; i < 32; i++) x += __shfl_sync(m, x, (threadIdx.x + i) & 31, 8);
    out[INDEX] = x;
}

KERNEL fnv(const u8 *in, u64 *out) {
    u64 h = 1469598103934665603ull;
    for (int i = 0; i < 32; i++) h = (h ^ in[INDEX * 32 + i]) * 1099511628211ull;
    out[INDEX] = h;
}

KERNEL shuffled(const u8 *in, u32 *out) {
    u8 a[64];
    for (int i = 0; i < 64; i++) a[i] = in[INDEX + i];
    u32 j = 0, s = 0;
    for (int i = 0; i < 64; i++) {
        j = (j + a[i] + i) & 63;
        u8 t = a[i];
        a[i] = a[j], a[j] = t;
        s += a[(a[i] + a[j]) & 63];
    }
    out[INDEX] = s;
}

KERNEL bits64(const u64 *in, u64 *out) {
    u64 x = in[INDEX & 0xffff];
    for (int i = 0; i < 16; i++) {
        x ^= __umul64hi(x, 0x9e3779b97f4a7c15ull);
        x += __popcll(x) + __clzll(x | 1);
        x = __brevll(x) ^ (x << (i & 7));
        x += __ffsll(x);
    }
    out[INDEX] = x;
}

KERNEL fp8(const float *in, __nv_fp8_e4m3 *out) {
    float m = 0;
    for (int i = 0; i < 16; i++) m = fmaxf(m, fabsf(in[i * 1024 + (INDEX & 1023)]));
    out[INDEX] = __nv_fp8_e4m3(in[INDEX] / m * 448.f);
}

KERNEL copies(const float4 *in, float *out) {
    __shared__ float4 s[2][256];
    float sum = 0;
    __pipeline_memcpy_async(&s[0][threadIdx.x], in + INDEX, 16);
    __pipeline_commit();
    for (int i = 0; i < 16; i++) {
        if (i < 15) __pipeline_memcpy_async(&s[(i + 1) & 1][threadIdx.x], in + INDEX + (i + 1) * 1024, 16);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 v = s[i & 1][255 - threadIdx.x];
        sum += v.x + v.y * v.z + v.w;
        __syncthreads();
    }
    out[INDEX] = sum;
}

KERNEL fragments(const __half *a, float *c) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, __half, row_major> x;
    fragment<matrix_b, 16, 16, 16, __half, col_major> y;
    fragment<accumulator, 16, 16, 16, float> sums;
    fill_fragment(sums, 0.0f);
    int w = INDEX >> 5;
    for (int k = 0; k < 64; k += 16) {
        load_matrix_sync(x, a + (w & 15) * 16 * 64 + k, 64);
        load_matrix_sync(y, a + (w >> 4 & 15) * 16 * 64 + k, 64);
        mma_sync(sums, x, y, sums);
    }
    store_matrix_sync(c + w * 256, sums, 16, mem_row_major);
}

KERNEL pairs(const __half *in, __half2 *out) {
    __half2 v = __halves2half2(in[INDEX & 0xffff], in[(INDEX + 1) & 0xffff]);
    atomicAdd(out + (INDEX & 1023), v);
}
