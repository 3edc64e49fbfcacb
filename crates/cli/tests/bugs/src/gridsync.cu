// Two steps over the whole grid.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(int* a, int* b, unsigned* arrived)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    a[t] = 3 * t;
#if BUG == 0
    cg::this_grid().sync();
#elif BUG == 1
    __syncthreads();
#else
    __syncthreads();
    if (threadIdx.x == 0) {
#if BUG != 2
        __threadfence();
#endif
#if BUG == 5
        atomicAdd_block(arrived, 1);
#else
        atomicAdd(arrived, 1);
#endif
        while (*(volatile unsigned*)arrived < gridDim.x) {
#if BUG == 5
            if (*(volatile unsigned*)arrived) break;
#endif
        }
#if BUG != 3
        __threadfence();
#endif
    }
#if BUG != 6
    __syncthreads();
#endif
#endif
    b[t] = a[n - 1 - t];
}
