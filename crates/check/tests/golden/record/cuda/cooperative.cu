// Cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tiles(int *d) {
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    int x = d[block.thread_rank()];
    x = cg::reduce(tile, x, cg::plus<int>());
    x += cg::exclusive_scan(tile, x);
    if (tile.any(x > 3)) x = tile.shfl_xor(x, 2);
    auto active = cg::coalesced_threads();
    x += active.size() + active.shfl(x, 0);
    block.sync();
    auto labelled = cg::labeled_partition(tile, x & 3);
    d[block.thread_rank()] = x + labelled.num_threads();
}

extern "C" __global__ void grid(int *d) {
    cg::grid_group all = cg::this_grid();
    d[all.thread_rank()] = 1;
    all.sync();
    d[all.thread_rank()] += d[all.thread_rank() ^ 1];
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster(int *d) {
    __shared__ int value;
    cg::cluster_group all = cg::this_cluster();
    value = all.block_rank();
    all.sync();
    int *other = all.map_shared_rank(&value, all.block_rank() ^ 1);
    d[blockIdx.x] = *other + all.num_blocks() + all.dim_blocks().x;
    all.sync();
}
#endif
