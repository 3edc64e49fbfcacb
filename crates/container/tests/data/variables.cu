__device__ float counts[262144];

extern "C" __global__ void count(int i) {
    __shared__ float sums[1024];
    sums[threadIdx.x] = counts[i];
    __syncthreads();
    counts[i] = sums[i];
}
