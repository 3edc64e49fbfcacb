// Sorting, scanning, histograms: longer code as compilers make it, through CUB.
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_reduce.cuh>

extern "C" __global__ void sort(unsigned *keys, float *values) {
    using Sort = cub::BlockRadixSort<unsigned, 64, 2, float>;
    __shared__ typename Sort::TempStorage storage;
    unsigned k[2] = {keys[2 * threadIdx.x], keys[2 * threadIdx.x + 1]};
    float v[2] = {values[2 * threadIdx.x], values[2 * threadIdx.x + 1]};
    Sort(storage).Sort(k, v);
    for (int i = 0; i < 2; i++) keys[2 * threadIdx.x + i] = k[i], values[2 * threadIdx.x + i] = v[i];
}

extern "C" __global__ void scan(double *d) {
    using Scan = cub::BlockScan<double, 128>;
    __shared__ typename Scan::TempStorage storage;
    double x = d[threadIdx.x], total;
    Scan(storage).InclusiveSum(x, x, total);
    d[threadIdx.x] = x / total;
}
