// Sorts 128 numbers in shared memory.
extern "C" __global__ void k(int* data)
{
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = data[t];
#if BUG != 2
    __syncthreads();
#endif
    for (int size = 2; size <= 128; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            int other = t ^ stride;
            if (other > t) {
                bool up = (t & size) == 0;
                if ((s[t] > s[other]) == up) {
                    int keep = s[t];
                    s[t] = s[other];
                    s[other] = keep;
                }
            }
#if BUG == 1
            if (stride > 32)
#endif
                __syncthreads();
        }
    }
    data[t] = s[t];
}
