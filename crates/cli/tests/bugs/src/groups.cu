// Cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int* in, int* out)
{
    __shared__ int s[64];
    auto block = cg::this_thread_block();
    int t = threadIdx.x, v = in[t];
#if BUG == 0
    auto tile = cg::tiled_partition<16>(block);
    s[t] = v;
    tile.sync();
    int other = s[t ^ 15];
    out[t] = cg::reduce(tile, other, cg::plus<int>());
#elif BUG == 1 // the tile is smaller than what is exchanged
    auto tile = cg::tiled_partition<16>(block);
    s[t] = v;
    tile.sync();
    out[t] = s[t ^ 16];
#elif BUG == 2
    auto tile = cg::tiled_partition<16>(block);
    s[t] = v;
    out[t] = s[t ^ 15] + tile.size();
#elif BUG == 3 // a control
    if (v & 1) {
        auto active = cg::coalesced_threads();
        out[t] = active.thread_rank() + active.shfl(v, 0);
        active.sync();
    } else
        out[t] = 0;
#elif BUG == 4 // a control
    auto warp = cg::tiled_partition<32>(block);
    out[t] = cg::inclusive_scan(warp, v) + warp.any(v > 7);
#elif BUG == 5 // a tile's barrier in a branch that half of it takes
    auto tile = cg::tiled_partition<32>(block);
    s[t] = v;
    if (tile.thread_rank() < 20)
        tile.sync();
    block.sync();
    out[t] = s[63 - t];
#elif BUG == 6 // the block's barrier, and some have left
    s[t] = v;
    if (t >= 50)
        return;
    block.sync();
    out[t] = s[49 - t];
#elif BUG == 7 // a control: partitions of partitions, and a reduction through shared memory
    auto four = cg::tiled_partition<4>(cg::tiled_partition<32>(block));
    s[t] = four.shfl_xor(v, 1);
    block.sync();
    out[t] = s[(t + 7) & 63];
#endif
}
