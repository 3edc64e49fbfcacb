// Warp 0 makes, warp 1 uses, with mbarriers for full and empty.
#include "async.h"
extern "C" __global__ void k(const int* in, int* out, int turns)
{
    __shared__ u64 full, empty;
    __shared__ int s[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (threadIdx.x == 0) {
        mbar_init(&full, 32);
        mbar_init(&empty, 32);
    }
#if BUG != 1
    __syncthreads();
#endif
    if (warp == 0) {
        for (int i = 0; i < turns; i++) {
#if BUG == 2
            mbar_wait(&empty, 0 ^ (i & 1) ^ 1); // right
            s[lane] = in[32 * i + lane];
            mbar_arrive_relaxed(&full);
#elif BUG == 3 // does not wait for empty
            s[lane] = in[32 * i + lane];
            mbar_arrive(&full);
#else
            mbar_wait(&empty, (i & 1) ^ 1);
            s[lane] = in[32 * i + lane];
            mbar_arrive(&full);
#endif
        }
    } else {
        int sum = 0;
        for (int i = 0; i < turns; i++) {
#if BUG == 4 // the phase before is complete at once
            mbar_wait(&full, (i & 1) ^ 1);
#elif BUG == 5 // asks once
            mbar_try(&full, i & 1);
#elif BUG == 6
            while (!mbar_try_relaxed(&full, i & 1)) {}
#elif BUG == 7 // nothing
#else
            mbar_wait(&full, i & 1);
#endif
            sum += s[31 - lane];
            mbar_arrive(&empty);
        }
        out[lane] = sum;
    }
}
