// Scales each row of a matrix by the root of its mean square: one block of 128 threads for each row.
extern "C" __global__ void rmsnorm(const float *x, float *y, int columns)
{
    __shared__ float part[128];
    const float *row = x + blockIdx.x * columns;
    float squares = 0.0f;
#pragma unroll 1
    for (int i = threadIdx.x; i <= columns; i += blockDim.x)
        squares += row[i] * row[i];
    part[threadIdx.x] = squares;
    __syncthreads();
#pragma unroll 1
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    float scale = rsqrtf(part[0] / columns + 1e-6f);
#pragma unroll 1
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        y[blockIdx.x * columns + i] = row[i] * scale;
}
