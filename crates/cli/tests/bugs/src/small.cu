// Neighbours in a word, equal stores, volatile, two buffers.
extern "C" __global__ void k(const int* in, int* out, int n)
{
    __shared__ unsigned char bytes[64];
    __shared__ unsigned short halves[64];
    __shared__ unsigned words[64];
    __shared__ int flag;
    __shared__ int two[2][64];
    int t = threadIdx.x;
#if BUG == 0 // controls: each its own byte and half
    bytes[t] = in[t];
    halves[t] = in[t];
    out[t] = bytes[t] + halves[t];
#elif BUG == 1 // a byte by way of its word
    words[t & 15] = 0;
    __syncthreads();
    words[t >> 2] = words[t >> 2] | (in[t] & 255) << 8 * (t & 3);
    __syncthreads();
    out[t] = words[t & 15];
#elif BUG == 2 // a control: the same, atomically
    if (t < 16)
        words[t] = 0;
    __syncthreads();
    atomicOr(&words[t >> 2], (in[t] & 255) << 8 * (t & 3));
    __syncthreads();
    out[t] = words[t & 15];
#elif BUG == 3 // a control: all who find something store the same
    if (t == 0)
        flag = 0;
    __syncthreads();
    if (in[t] > 5)
        flag = 1;
    __syncthreads();
    out[t] = flag;
#elif BUG == 4 // stores of different values
    if (in[t] > 5)
        flag = t;
    __syncthreads();
    out[t] = flag;
#elif BUG == 5 // a control: two buffers, one barrier in each turn
    int from = 0;
    two[0][t] = in[t];
    __syncthreads();
    for (int i = 0; i < n; i++) {
        two[1 - from][t] = two[from][t ^ 1] + two[from][t ^ 32];
        __syncthreads();
        from = 1 - from;
    }
    out[t] = two[from][t];
#elif BUG == 6 // the buffers are not exchanged
    two[0][t] = in[t];
    two[1][t] = 0;
    __syncthreads();
    for (int i = 0; i < n; i++) {
        two[1][t] = two[0][t ^ 1] + two[0][t ^ 32];
        two[0][t] = two[1][t];
        __syncthreads();
    }
    out[t] = two[0][t];
#elif BUG == 7 // volatile does not order other accesses
    if (t == 0) {
        two[0][0] = in[3];
        *(volatile int*)&flag = 1;
    }
    if (t == 32)
        out[0] = *(volatile int*)&flag ? two[0][0] : 0;
#elif BUG == 8 // neighbours in a halfword by 16-bit loads
    bytes[t] = in[t];
    out[t] = *(unsigned short*)&bytes[t & 62];
#elif BUG == 9 // vector stores that overlap
    if (t < 16)
        *(int4*)&two[0][4 * (t & 14)] = make_int4(t, t, t, t);
    __syncthreads();
    out[t] = two[0][t & 3];
#elif BUG == 10 // a control: reads in common
    if (t < 16)
        *(int4*)&two[0][4 * t] = make_int4(in[0], in[1], in[2], t);
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < 64; i++)
        sum += two[0][i];
    out[t] = sum;
#elif BUG == 11 // a control: a queue by atomics
    if (t == 0)
        flag = 0;
    __syncthreads();
    if (in[t] & 1) {
        int at = atomicAdd(&flag, 1);
        two[0][at] = in[t];
    }
    __syncthreads();
    if (t < flag)
        out[t] = two[0][t];
#elif BUG == 12 // the queue's size is read before everyone is done
    if (t == 0)
        flag = 0;
    __syncthreads();
    if (in[t] & 1) {
        int at = atomicAdd(&flag, 1);
        two[0][at] = in[t];
    }
    if (t < flag)
        out[t] = two[0][t];
#endif
}
