// Adds n numbers up: each block in shared memory, the blocks by an atomic addition.
extern "C" __global__ void sum(const float *numbers, int n, float *result)
{
    __shared__ float part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? numbers[i] : 0.0f;
    __syncthreads();
#pragma unroll 1
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(result, part[0]);
}

#include <cstdio>
#include <cstdlib>

int main(int count, char **words)
{
    int n = count > 1 ? atoi(words[1]) : 1000;
    float *numbers, *result;
    cudaMallocManaged(&numbers, n * sizeof *numbers);
    cudaMallocManaged(&result, sizeof *result);
    for (int i = 0; i < n; i++)
        numbers[i] = i + 1;
    *result = 0;
    sum<<<(n + 255) / 256, 256>>>(numbers, n, result);
    cudaError_t code = cudaDeviceSynchronize();
    if (code != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(code));
        return 1;
    }
    printf("%.0f\n", *result);
    return 0;
}
