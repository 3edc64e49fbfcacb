// Lanes give values to one another through shared memory.
extern "C" __global__ void k(const int* in, int* out)
{
    __shared__ int s[64];
    int t = threadIdx.x, lane = t & 31;
    int v = in[t];
#if BUG == 0
    s[t] = v;
    __syncwarp();
    out[t] = s[t ^ 1];
#elif BUG == 1 // nothing between
    s[t] = v;
    out[t] = s[t ^ 1];
#elif BUG == 2 // the halves are ordered only among themselves
    s[t] = v;
    if (lane < 16)
        __syncwarp(0x0000ffff);
    else
        __syncwarp(0xffff0000);
    out[t] = s[t ^ 16];
#elif BUG == 3 // a control: within the halves
    s[t] = v;
    if (lane < 16)
        __syncwarp(0x0000ffff);
    else
        __syncwarp(0xffff0000);
    out[t] = s[t ^ 8];
#elif BUG == 4 // in a branch, the other lanes read
    if (lane < 16)
        s[t] = v;
    if (lane >= 16)
        out[t] = s[t - 16];
#elif BUG == 5 // a barrier of the warp, but the reader is in another warp
    s[t] = v;
    __syncwarp();
    out[t] = s[t ^ 32];
#elif BUG == 6 // a control: twice, with both barriers
    for (int i = 0; i < 3; i++) {
        s[t] = v;
        __syncwarp();
        v = s[t ^ 5] + i;
        __syncwarp();
    }
    out[t] = v;
#elif BUG == 7 // the second barrier is missing
    for (int i = 0; i < 3; i++) {
        s[t] = v;
        __syncwarp();
        v = s[t ^ 5] + i;
    }
    out[t] = v;
#elif BUG == 8 // pairs of lanes, the barrier names pairs, the reader another pair
    s[t] = v;
    __syncwarp(3u << (lane & 30));
    out[t] = s[t ^ 2];
#elif BUG == 9 // a control: as before, in the pair
    s[t] = v;
    __syncwarp(3u << (lane & 30));
    out[t] = s[t ^ 1];
#endif
}
