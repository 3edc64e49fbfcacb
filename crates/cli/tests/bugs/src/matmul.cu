// Product of two n x n matrices by 16 x 16 tiles in shared memory.
extern "C" __global__ void k(const float* a, const float* b, float* c, int n)
{
    __shared__ float as[16][16];
    __shared__ float bs[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0;
    for (int tile = 0; tile < n; tile += 16) {
#if BUG == 3
        as[ty][tx + 1] = a[row * n + tile + tx];
#else
        as[ty][tx] = a[row * n + tile + tx];
#endif
        bs[ty][tx] = b[(tile + ty) * n + col];
#if BUG == 4
        __syncwarp();
#elif BUG == 5
        if (ty < 8)
            __syncthreads();
#elif BUG == 6
        if (tx < 8)
            __syncthreads();
#elif BUG != 1
        __syncthreads();
#endif
#pragma unroll 1
        for (int i = 0; i < 16; i++)
            sum += as[ty][i] * bs[i][tx];
#if BUG != 2
        __syncthreads();
#endif
    }
#if BUG == 7
    c[row * n + col + 1] = sum;
#else
    c[row * n + col] = sum;
#endif
}
