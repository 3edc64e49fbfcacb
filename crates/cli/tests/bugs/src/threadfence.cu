// A reduction in one pass, as CUDA's samples have it: every thread fences, thread 0 takes a ticket, the last block goes on.
__device__ unsigned tickets;
extern "C" __global__ void k(const float* in, float* out, int blocks)
{
    __shared__ float s[64];
    __shared__ bool last;
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 64 + t];
    __syncthreads();
    for (int d = 32; d > 0; d >>= 1) {
        if (t < d)
            s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
#if BUG != 1
    __threadfence();
#endif
    if (t == 0)
        last = atomicInc(&tickets, blocks) == blocks - 1;
#if BUG != 2
    __syncthreads();
#endif
    if (last) {
        float sum = 0;
        for (int i = t; i < blocks; i += 64)
            sum += out[i];
        s[t] = sum;
        __syncthreads();
        for (int d = 32; d > 0; d >>= 1) {
            if (t < d)
                s[t] += s[t + d];
            __syncthreads();
        }
        if (t == 0) {
            out[0] = s[0];
            tickets = 0;
        }
    }
}
