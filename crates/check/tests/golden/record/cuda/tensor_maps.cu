// Copies through tensor maps, tiled and im2col, with reductions, multicast and prefetch.
#include <cuda.h>
extern "C" __global__ void tensors(const __grid_constant__ CUtensorMap map, int *d, int x, int y, int z) {
    __shared__ __align__(8) unsigned long long barrier;
    __shared__ __align__(128) int tile[1024];
    unsigned b = (unsigned)__cvta_generic_to_shared(&barrier), t = (unsigned)__cvta_generic_to_shared(tile);
    const void *m = &map;
    unsigned short mask = 3, offset = 1;
    asm volatile("prefetch.tensormap [%0];" :: "l"(m));
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];"
                 :: "r"(t), "l"(m), "r"(x), "r"(b) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(t), "l"(m), "r"(x), "r"(y), "r"(b) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
                 :: "r"(t), "l"(m), "r"(x), "r"(y), "r"(b), "h"(mask) : "memory");
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};"
                 :: "r"(t), "l"(m), "r"(x), "r"(y), "r"(z), "r"(z), "r"(b), "h"(offset), "h"(offset) : "memory");
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];"
                 :: "l"(m), "r"(x), "r"(y), "r"(z), "r"(t) : "memory");
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%1, %2}], [%3];"
                 :: "l"(m), "r"(x), "r"(y), "r"(t) : "memory");
    asm volatile("cp.async.bulk.prefetch.tensor.5d.L2.global.tile [%0, {%1, %2, %3, %4, %5}];"
                 :: "l"(m), "r"(x), "r"(y), "r"(z), "r"(x), "r"(y));
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 1;");
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" :: "r"(t), "l"(d));
    asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 0, %1;" :: "r"(t), "r"(x));
    asm volatile("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%0], 2;" :: "r"(t));
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" :: "l"(d), "r"(t));
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" :: "l"(d));
    d[threadIdx.x] = tile[threadIdx.x];
}
