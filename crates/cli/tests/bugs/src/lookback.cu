// Decoupled look-back: state and value in one word of 64 bits, read and written whole.
extern "C" __global__ void k(const int* in, int* out, unsigned long long* tiles, int* values)
{
    int t = threadIdx.x, b = blockIdx.x;
    int mine = in[b * 32 + t], sum = mine;
    for (int d = 1; d < 32; d *= 2) {
        int other = __shfl_up_sync(0xffffffff, sum, d);
        if (t >= d)
            sum += other;
    }
    int prefix = 0;
#if BUG == 0
    if (t == 31)
        *(volatile unsigned long long*)&tiles[b] = (b == 0 ? 2ull : 1ull) << 32 | (unsigned)sum;
    if (t == 0 && b > 0) {
        for (int at = b - 1; at >= 0; at--) {
            unsigned long long word;
            do
                word = *(volatile unsigned long long*)&tiles[at];
            while (word >> 32 == 0);
            prefix += (int)word;
            if (word >> 32 == 2)
                break;
        }
    }
    prefix = __shfl_sync(0xffffffff, prefix, 0);
    if (t == 31 && b > 0)
        *(volatile unsigned long long*)&tiles[b] = 2ull << 32 | (unsigned)(prefix + sum);
#else // the value is beside the state, and nothing orders them
    if (t == 31) {
        values[b] = sum;
#if BUG == 2
        __threadfence();
#endif
        atomicExch(&tiles[b], 1ull);
    }
    if (t == 0 && b > 0) {
        for (int at = b - 1; at >= 0; at--) {
            while (atomicAdd(&tiles[at], 0ull) == 0) {}
#if BUG == 2
            __threadfence();
#endif
            prefix += values[at];
        }
    }
    prefix = __shfl_sync(0xffffffff, prefix, 0);
#endif
    out[b * 32 + t] = prefix + sum;
}
