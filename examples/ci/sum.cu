// Adds numbers: a tree in shared memory for each block, and one atomic operation.
#include "check.h"
#include <numeric>
#include <vector>

__global__ void sum(const int *numbers, int count, int *total)
{
    __shared__ int part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < count ? numbers[i] : 0;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(total, part[0]);
}

int main()
{
    for (int count : {1, 31, 256, 1000, 4097}) {
        std::vector<int> numbers(count);
        std::iota(numbers.begin(), numbers.end(), 1);
        int *device, *total, result;
        CHECK(cudaMalloc(&device, count * sizeof(int)));
        CHECK(cudaMalloc(&total, sizeof(int)));
        CHECK(cudaMemcpy(device, numbers.data(), count * sizeof(int), cudaMemcpyHostToDevice));
        CHECK(cudaMemset(total, 0, sizeof(int)));
        sum<<<(count + 255) / 256, 256>>>(device, count, total);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(&result, total, sizeof(int), cudaMemcpyDeviceToHost));
        CHECK(cudaFree(device));
        CHECK(cudaFree(total));
        if (result != count * (count + 1) / 2) {
            std::fprintf(stderr, "the sum of 1 to %d is %d\n", count, result);
            return 1;
        }
    }
}
