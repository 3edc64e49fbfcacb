// A blocked matrix product and a softmax: what people write.
#include <math_constants.h>
template <int TILE>
__device__ void product(float *c, const float *a, const float *b, int n) {
    __shared__ float sa[TILE][TILE], sb[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n; t += TILE) {
        sa[threadIdx.y][threadIdx.x] = row < n && t + threadIdx.x < n ? a[row * n + t + threadIdx.x] : 0;
        sb[threadIdx.y][threadIdx.x] = column < n && t + threadIdx.y < n ? b[(t + threadIdx.y) * n + column] : 0;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++) sum += sa[threadIdx.y][k] * sb[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}
extern "C" __global__ void __launch_bounds__(256) gemm(float *c, const float *a, const float *b, int n) { product<16>(c, a, b, n); }

extern "C" __global__ void softmax(float *out, const float *in, int n) {
    const float *row = in + blockIdx.x * n;
    float top = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < n; i += 32) top = fmaxf(top, row[i]);
    for (int w = 16; w; w >>= 1) top = fmaxf(top, __shfl_xor_sync(~0u, top, w));
    for (int i = threadIdx.x; i < n; i += 32) sum += expf(row[i] - top);
    for (int w = 16; w; w >>= 1) sum += __shfl_xor_sync(~0u, sum, w);
    for (int i = threadIdx.x; i < n; i += 32) out[blockIdx.x * n + i] = expf(row[i] - top) / sum;
}
