// Warp intrinsics.
extern "C" __global__ void warps(int *d, double *g, unsigned mask) {
    int i = threadIdx.x, x = d[i];
    x += __shfl_sync(mask, x, 3);
    x += __shfl_up_sync(mask, x, 1, 16);
    x += __shfl_down_sync(mask, x, 2);
    x += __shfl_xor_sync(mask, x, 8);
    g[i] = __shfl_sync(mask, g[i], 0, 8);
    unsigned m = __ballot_sync(mask, x > 0);
    if (__all_sync(mask, x & 1)) x ^= m;
    if (__any_sync(mask, x & 2)) x -= 5;
    m |= __activemask();
    m ^= __match_any_sync(mask, x);
    int all;
    m ^= __match_all_sync(mask, (unsigned long long)x, &all);
    __syncwarp(mask);
    if (__uni_sync(mask, all)) m++;
#if __CUDA_ARCH__ >= 800
    m += __reduce_add_sync(mask, x);
    m += __reduce_min_sync(mask, m);
    m += __reduce_or_sync(mask, m);
#endif
    d[i] = x + m + __popc(m);
}

extern "C" __global__ void registers(unsigned *d, long long *c) {
    unsigned lane, warp, smid, lt, eq;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
    asm volatile("mov.u32 %0, %%lanemask_eq;" : "=r"(eq));
    unsigned long long timer, grid;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer));
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(grid));
    d[0] = lane + warp + smid + lt + eq + gridDim.z + blockIdx.y;
    c[0] = clock64() + clock() + timer + grid;
    __nanosleep(100);
}
