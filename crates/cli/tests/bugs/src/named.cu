// Warps 0 and 1 make, warps 2 and 3 use, with named barriers.
__device__ inline void sync(int id, int n) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__device__ inline void arrive(int id, int n) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(n) : "memory"); }
extern "C" __global__ void k(const int* in, int* out, int turns)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t < 64) {
        for (int i = 0; i < turns; i++) {
#if BUG != 2
            sync(2, 128);
#endif
            s[t] = in[64 * i + t];
#if BUG == 3
            arrive(3, 128);
#elif BUG == 5
            arrive(1, 64);
#else
            arrive(1, 128);
#endif
        }
    } else {
        int sum = 0;
#if BUG != 2
        arrive(2, 128);
#endif
        for (int i = 0; i < turns; i++) {
#if BUG == 1
            arrive(1, 128);
#elif BUG == 4
            sync(1, 96);
#elif BUG == 5
            sync(1, 64);
#else
            sync(1, 128);
#endif
            sum += s[127 - t];
#if BUG != 2
            if (i + 1 < turns)
                arrive(2, 128);
#endif
        }
        out[t - 64] = sum;
    }
}
