// CUB's algorithms for blocks and warps, with storage that is used again.
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
extern "C" __global__ void k(const int* in, int* out)
{
    int t = threadIdx.x, v = in[t];
#if BUG == 0 || BUG == 1
    using Reduce = cub::BlockReduce<int, 64>;
    __shared__ typename Reduce::TempStorage storage;
    int sum = Reduce(storage).Sum(v);
#if BUG == 0
    __syncthreads();
#endif
    int top = Reduce(storage).Reduce(v, cuda::maximum<>{});
    if (t == 0) {
        out[0] = sum;
        out[1] = top;
    }
#elif BUG == 2 || BUG == 3
    using Scan = cub::BlockScan<int, 64, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ typename Scan::TempStorage storage;
    int x, y;
    Scan(storage).ExclusiveSum(v, x);
#if BUG == 2
    __syncthreads();
#endif
    Scan(storage).InclusiveSum(v, y);
    out[t] = x + y;
#elif BUG == 4 || BUG == 5
    using Sort = cub::BlockRadixSort<int, 64, 2>;
    __shared__ union {
        typename Sort::TempStorage sort;
        int plain[128];
    } storage;
    int keys[2] = {v, in[t + 64]};
    Sort(storage.sort).Sort(keys);
#if BUG == 4
    __syncthreads();
#endif
    storage.plain[126 - 2 * t] = keys[0];
    storage.plain[127 - 2 * t] = keys[1];
    __syncthreads();
    out[t] = storage.plain[t];
#elif BUG == 6
    using Reduce = cub::WarpReduce<int>;
    using Scan = cub::WarpScan<int>;
    __shared__ typename Reduce::TempStorage storage[2];
    __shared__ typename Scan::TempStorage scans[2];
    int sum = Reduce(storage[t >> 5]).Sum(v), x;
    Scan(scans[t >> 5]).ExclusiveSum(v, x);
    out[t] = x + sum;
#endif
}
