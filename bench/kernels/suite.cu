// The kernels of the benchmark suite (`bench/src/bin/suite.rs`).
//
// suite.ptx was made of it by: nvcc -ptx -arch=compute_75 suite.cu

typedef unsigned int u32;

extern "C" __global__ void empty() {}

extern "C" __global__ void saxpy(u32 n, float a, const float *x, float *y) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void triad(u32 n, float s, const float *b, const float *c, float *a) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = b[i] + s * c[i];
}

extern "C" __global__ void gemm(const float *a, const float *b, float *c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || column >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

template <int TILE> __device__ void tiled(const float *a, const float *b, float *c, int n) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int tile = 0; tile < n; tile += TILE) {
        left[threadIdx.y][threadIdx.x] = a[row * n + tile + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(tile + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void tiled16(const float *a, const float *b, float *c, int n) { tiled<16>(a, b, c, n); }

extern "C" __global__ void tiled32(const float *a, const float *b, float *c, int n) { tiled<32>(a, b, c, n); }

extern "C" __global__ void stencil(const float *in, float *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
    int at = y * width + x;
    out[at] = 0.5f * in[at] + 0.125f * (in[at - 1] + in[at + 1] + in[at - width] + in[at + width]);
}

// A CTA of 256 threads sums 512 elements.
extern "C" __global__ void reduce(const float *in, float *out) {
    __shared__ float sums[256];
    u32 t = threadIdx.x, at = blockIdx.x * 512 + t;
    sums[t] = in[at] + in[at + 256];
    __syncthreads();
    for (u32 half = 128; half > 0; half >>= 1) {
        if (t < half) sums[t] += sums[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = sums[0];
}

// Inclusive prefix sums of segments of 256, a CTA each.
extern "C" __global__ void scan(const u32 *in, u32 *out) {
    __shared__ u32 totals[8];
    u32 t = threadIdx.x, lane = t & 31, warp = t >> 5, at = blockIdx.x * 256 + t;
    u32 x = in[at];
    for (int d = 1; d < 32; d <<= 1) {
        u32 y = __shfl_up_sync(~0u, x, d);
        if (lane >= d) x += y;
    }
    if (lane == 31) totals[warp] = x;
    __syncthreads();
    for (u32 w = 0; w < warp; w++) x += totals[w];
    out[at] = x;
}

extern "C" __global__ void transpose(const float *in, float *out, int side) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * side + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * side + x] = tile[threadIdx.x][threadIdx.y + j];
}

// Each CTA of 256 threads counts 16,384 elements.
extern "C" __global__ void histogram(const u32 *in, u32 *out) {
    __shared__ u32 bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (u32 i = threadIdx.x; i < 16384; i += 256) atomicAdd(&bins[in[blockIdx.x * 16384 + i] & 255], 1u);
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = bins[threadIdx.x];
}

extern "C" __global__ void mandelbrot(u32 *out, int side, int most) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float cr = 3.0f * x / side - 2.0f, ci = 3.0f * y / side - 1.5f, zr = 0, zi = 0;
    int n = 0;
    while (n < most && zr * zr + zi * zi <= 4.0f) {
        float next = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = next;
        n++;
    }
    out[y * side + x] = n;
}

extern "C" __global__ void nbody(const float4 *bodies, float4 *out, int n) {
    __shared__ float4 tile[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 me = bodies[i];
    float ax = 0, ay = 0, az = 0;
    for (int base = 0; base < n; base += 256) {
        tile[threadIdx.x] = bodies[base + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 256; j++) {
            float4 other = tile[j];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float s = other.w * inverse * inverse * inverse;
            ax += dx * s;
            ay += dy * s;
            az += dz * s;
        }
        __syncthreads();
    }
    out[i] = make_float4(ax, ay, az, 0);
}

__device__ float cumulative(float d) {
    float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
    float poly = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float c = 0.39894228040143267794f * __expf(-0.5f * d * d) * poly;
    return d > 0 ? 1.0f - c : c;
}

extern "C" __global__ void blackscholes(
    const float *price, const float *strike, const float *years, float *call, float *put, float rate, float volatility
) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = price[i], x = strike[i], t = years[i];
    float root = __fdividef(1.0f, rsqrtf(t));
    float d1 = __fdividef(__logf(__fdividef(s, x)) + (rate + 0.5f * volatility * volatility) * t, volatility * root);
    float d2 = d1 - volatility * root;
    float n1 = cumulative(d1), n2 = cumulative(d2), discount = __expf(-rate * t);
    call[i] = s * n1 - x * discount * n2;
    put[i] = x * discount * (1.0f - n2) - s * (1.0f - n1);
}

__device__ float block_reduce(float x, float *partial, bool largest) {
    for (int d = 16; d > 0; d >>= 1) {
        float y = __shfl_xor_sync(~0u, x, d);
        x = largest ? fmaxf(x, y) : x + y;
    }
    if ((threadIdx.x & 31) == 0) partial[threadIdx.x >> 5] = x;
    __syncthreads();
    x = partial[0];
    for (int w = 1; w < 8; w++) x = largest ? fmaxf(x, partial[w]) : x + partial[w];
    __syncthreads();
    return x;
}

// A CTA of 256 threads for each row of 1,024.
extern "C" __global__ void softmax(const float *in, float *out) {
    __shared__ float partial[8];
    const float *row = in + blockIdx.x * 1024;
    float x[4], most = -INFINITY, sum = 0;
    for (int i = 0; i < 4; i++) {
        x[i] = row[threadIdx.x + 256 * i];
        most = fmaxf(most, x[i]);
    }
    most = block_reduce(most, partial, true);
    for (int i = 0; i < 4; i++) {
        x[i] = __expf(x[i] - most);
        sum += x[i];
    }
    float factor = 1.0f / block_reduce(sum, partial, false);
    for (int i = 0; i < 4; i++) out[blockIdx.x * 1024 + threadIdx.x + 256 * i] = x[i] * factor;
}

extern "C" __global__ void lcg(u32 *out, int steps) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x, x = i;
#pragma unroll 1
    for (int n = 0; n < steps; n++) x = (x ^ (u32)n) * 1664525u + 1013904223u;
    out[i] = x;
}

// Philox4x32-10: four words for each thread.
extern "C" __global__ void philox(uint4 *out, u32 k0, u32 k1) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 c = make_uint4(i, 0, 0, 0);
    for (int round = 0; round < 10; round++) {
        u32 h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
        u32 h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
        c = make_uint4(h1 ^ c.y ^ k0, l1, h0 ^ c.w ^ k1, l0);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[i] = c;
}

__constant__ u32 K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

__device__ u32 rotate(u32 x, int n) { return __funnelshift_r(x, x, n); }

// The first word of SHA-256's state after one block of 16 words: a counter, and the words of a message.
extern "C" __global__ void sha256(const u32 *message, u32 *out) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 w[16];
    for (int t = 0; t < 16; t++) w[t] = message[t];
    w[0] = i;
    u32 a = 0x6a09e667, b = 0xbb67ae85, c = 0x3c6ef372, d = 0xa54ff53a;
    u32 e = 0x510e527f, f = 0x9b05688c, g = 0x1f83d9ab, h = 0x5be0cd19;
#pragma unroll
    for (int t = 0; t < 64; t++) {
        if (t >= 16) {
            u32 x = w[(t + 1) & 15], y = w[(t + 14) & 15];
            w[t & 15] += (rotate(x, 7) ^ rotate(x, 18) ^ (x >> 3)) + w[(t + 9) & 15]
                + (rotate(y, 17) ^ rotate(y, 19) ^ (y >> 10));
        }
        u32 t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + K[t] + w[t & 15];
        u32 t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    out[i] = a + 0x6a09e667;
}

// A product of a sparse matrix (compressed rows) and a vector, a thread for each row.
extern "C" __global__ void spmv(
    const u32 *starts, const u32 *columns, const float *values, const float *x, float *y, u32 rows
) {
    u32 row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (u32 at = starts[row]; at < starts[row + 1]; at++) sum += values[at] * x[columns[at]];
    y[row] = sum;
}

// A special function of 64 numbers in each thread.
#define FUNCTION(name, op)                                                                          \
    extern "C" __global__ void name(const float *in, float *out) {                                  \
        u32 i = blockIdx.x * blockDim.x + threadIdx.x;                                              \
        float x = in[i], sum = 0;                                                                   \
        _Pragma("unroll 4") for (int n = 0; n < 64; n++) {                                          \
            float y;                                                                                \
            asm(op ".approx.f32 %0, %1;" : "=f"(y) : "f"(x));                                       \
            sum += y;                                                                               \
            x += 0.01f;                                                                             \
        }                                                                                           \
        out[i] = sum;                                                                               \
    }

FUNCTION(ex2_rows, "ex2")
FUNCTION(lg2_rows, "lg2")
FUNCTION(rcp_rows, "rcp")
FUNCTION(rsqrt_rows, "rsqrt")
FUNCTION(sin_rows, "sin")
FUNCTION(cos_rows, "cos")
FUNCTION(tanh_rows, "tanh")
