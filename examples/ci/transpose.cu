// Transposes a matrix by tiles in shared memory, whose rows have one more element so that columns are in all banks.
#include "check.h"
#include <vector>

constexpr int TILE = 16;

__global__ void transpose(const float *from, float *to, int rows, int columns)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < columns && y < rows)
        tile[threadIdx.y][threadIdx.x] = from[y * columns + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
    if (x < rows && y < columns)
        to[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}

int main()
{
    const int rows = 50, columns = 37;
    std::vector<float> from(rows * columns), to(rows * columns);
    for (int i = 0; i < rows * columns; i++)
        from[i] = float(i);
    float *source, *target;
    const size_t bytes = from.size() * sizeof(float);
    CHECK(cudaMalloc(&source, bytes));
    CHECK(cudaMalloc(&target, bytes));
    CHECK(cudaMemcpy(source, from.data(), bytes, cudaMemcpyHostToDevice));
    dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE), block(TILE, TILE);
    transpose<<<grid, block>>>(source, target, rows, columns);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(to.data(), target, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(source));
    CHECK(cudaFree(target));
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++)
            if (to[x * rows + y] != from[y * columns + x]) {
                std::fprintf(stderr, "row %d, column %d is %g\n", y, x, to[x * rows + y]);
                return 1;
            }
}
