// Transposes 32 x 32 tiles; a block has 32 x 8 threads.
extern "C" __global__ void k(const float* in, float* out, int n)
{
#if BUG == 2
    __shared__ float tile[32][32];
    int bound = 33;
#else
    __shared__ float tile[32][33];
    int bound = 32;
#endif
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
#if BUG == 2
    if (threadIdx.y == 7 && threadIdx.x == 0)
        tile[bound - 1][0] = 0;
#endif
#if BUG != 1
    __syncthreads();
#endif
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
    (void)bound;
}
