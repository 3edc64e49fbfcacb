// Sums over the lanes of a warp by shuffles.
extern "C" __global__ void k(const int* in, int* out, int n)
{
    int t = threadIdx.x, lane = t & 31;
#if BUG == 0
    int v = t < n ? in[t] : 0;
    for (int d = 16; d > 0; d >>= 1)
        v += __shfl_down_sync(0xffffffff, v, d);
    if (lane == 0)
        out[t >> 5] = v;
#elif BUG == 1 // lanes that exited are named
    if (t >= n)
        return;
    int v = in[t];
    for (int d = 16; d > 0; d >>= 1)
        v += __shfl_down_sync(0xffffffff, v, d);
    if (lane == 0)
        out[t >> 5] = v;
#elif BUG == 2 // a full mask in a branch for half of the lanes
    int v = in[t];
    if (lane < 16) {
        for (int d = 8; d > 0; d >>= 1)
            v += __shfl_down_sync(0xffffffff, v, d);
        if (lane == 0)
            out[t >> 5] = v;
    }
#elif BUG == 3 // a control: a mask taken before the branch
    unsigned mask = __ballot_sync(0xffffffff, t < n);
    if (t < n) {
        int v = in[t];
        for (int d = 16; d > 0; d >>= 1) {
            int other = __shfl_down_sync(mask, v, d);
            if (mask >> (lane + d) & 1 && lane + d < 32)
                v += other;
        }
        if (lane == 0)
            out[t >> 5] = v;
    }
#elif BUG == 4 // lanes not in their own mask
    int v = in[t];
    for (int d = 8; d > 0; d >>= 1)
        v += __shfl_down_sync(0x0000ffff, v, d);
    if (lane == 0)
        out[t >> 5] = v;
#elif BUG == 5 // a lane reads one outside of the mask
    int v = in[t];
    if (lane < 16) {
        v += __shfl_sync(0x0000ffff, v, lane + 16);
        out[t] = v;
    }
#elif BUG == 6 // a control: the two halves sum apart
    int v = in[t];
    if (lane < 16) {
        for (int d = 8; d > 0; d >>= 1)
            v += __shfl_xor_sync(0x0000ffff, v, d);
    } else {
        for (int d = 8; d > 0; d >>= 1)
            v += __shfl_xor_sync(0xffff0000, v, d);
    }
    out[t] = v;
#elif BUG == 7 // ballot: lanes that exited are named
    if (t >= n)
        return;
    out[t] = __popc(__ballot_sync(0xffffffff, in[t] & 1));
#elif BUG == 8 // match
    if (lane >= 24)
        return;
    out[t] = __match_any_sync(0xffffffff, in[t] & 3);
#elif BUG == 9 // redux
    if (lane >= 8)
        out[t] = __reduce_add_sync(0xffffffff, in[t]);
#elif BUG == 10 // all/any after half has left
    if (lane & 1)
        return;
    out[t] = __any_sync(0xffffffff, in[t] > 3);
#elif BUG == 11 // a control: the active lanes, as they are
    if (lane % 3 == 0) {
        unsigned mask = __activemask();
        out[t] = __popc(__ballot_sync(mask, in[t] & 1));
    }
#elif BUG == 12 // a control: aggregation of atomics by a leader
    if (in[t] & 1) {
        unsigned mask = __activemask();
        int leader = __ffs(mask) - 1, base = 0;
        if (lane == leader)
            base = atomicAdd(out, __popc(mask));
        base = __shfl_sync(mask, base, leader);
        out[64 + base + __popc(mask & ((1u << lane) - 1))] = in[t];
    }
#elif BUG == 13 // a control: redux and match with full warps
    out[t] = __reduce_max_sync(0xffffffff, in[t]) + __match_any_sync(0xffffffff, t >> 2);
#elif BUG == 14 // syncwarp names lanes that exited
    if (lane == 31)
        return;
    __syncwarp();
    out[t] = in[t];
#elif BUG == 15 // syncwarp executed by a lane that is not in the mask
    __syncwarp(0x7fffffff);
    out[t] = in[t];
#endif
}
