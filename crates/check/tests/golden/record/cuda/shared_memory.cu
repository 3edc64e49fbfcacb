// Shared memory: static, dynamic, transposed, reduced.
extern __shared__ float dynamic_[];

extern "C" __global__ void transpose(float *out, const float *in, int n) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void reduce(double *out, const double *in, int n) {
    __shared__ double sums[256];
    double sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += in[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half >>= 1) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = sums[0];
}

extern "C" __global__ void stencil(float *out, const float *in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    dynamic_[threadIdx.x + 1] = in[i + 1];
    if (threadIdx.x == 0) {
        dynamic_[0] = in[i];
        dynamic_[blockDim.x + 1] = in[i + blockDim.x + 1];
    }
    __syncthreads();
    out[i] = 0.25f * dynamic_[threadIdx.x] + 0.5f * dynamic_[threadIdx.x + 1] + 0.25f * dynamic_[threadIdx.x + 2];
    if (__syncthreads_or(out[i] > 1.0f)) out[i] = __syncthreads_count(i & 1);
    if (__syncthreads_and(out[i] > 1.0f)) out[i] += 1;
}
