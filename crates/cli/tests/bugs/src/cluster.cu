// The CTAs of a cluster read and write one another's shared memory.
#include <cooperative_groups.h>
#include "async.h"
namespace cg = cooperative_groups;
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(const int* in, int* out)
{
    __shared__ int s[64];
    __shared__ u64 bar;
    auto cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), t = threadIdx.x;
#if BUG <= 5
    s[t] = in[64 * rank + t];
#if BUG == 1
    __syncthreads();
#elif BUG == 3
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#elif BUG == 4
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#else
    cluster.sync();
#endif
    int* other = cluster.map_shared_rank(s, rank ^ 1);
#if BUG == 5
    out[64 * rank + t] = other[t ^ 1];
    s[t] = 0;
    cluster.sync();
#else
    out[64 * rank + t] = other[t ^ 1];
#if BUG == 4
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
#if BUG != 2
    cluster.sync();
#endif
#endif
#elif BUG == 6 || BUG == 7 // a histogram over the cluster
    s[t] = 0;
#if BUG == 7
    __syncthreads();
#else
    cluster.sync();
#endif
    int v = (in[64 * rank + t] + 40) & 127;
    atomicAdd(cluster.map_shared_rank(s, v >> 6) + (v & 63), 1);
    cluster.sync();
    out[64 * rank + t] = s[t];
#else // st.async
    if (t == 0) {
        mbar_init(&bar, 1);
        mbar_fence();
        mbar_expect(&bar, 256);
    }
    cluster.sync();
    unsigned at = smem(&s[t]), theirs = smem(&bar);
    asm volatile("{ .reg .b32 a, b; mapa.shared::cluster.u32 a, %0, %2; mapa.shared::cluster.u32 b, %1, %2;\n"
                 "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [a], %3, [b]; }"
                 ::"r"(at), "r"(theirs), "r"(rank ^ 1), "r"(in[64 * rank + t]) : "memory");
#if BUG == 9
    cluster.sync();
#elif BUG == 8
    mbar_wait(&bar, 0);
#endif
    out[64 * rank + t] = s[t ^ 1];
    cluster.sync();
#endif
}
